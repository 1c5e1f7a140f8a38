"""Every process of ours is started in a folder full of modules that would take it over; none of them runs.

So is the demo, in tests/demo.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clikit import SCRIPT
from devscript import TOTAL
from devstack import SCRIPTED, DevStack, wait_for
from neuraphage.dev.binary import find_binary
from neuraphage.dev.process import without_current_folder
from neuraphage.errors import StackError
from neuraphage.settings import Settings
from neuraphage.stack_note import settings_of_running_stack
from patience import PATIENCE_S
from trapkit import Trap

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
CELERY = str(Path(sys.executable).with_name("celery"))
LIMIT_S = PATIENCE_S


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    """The folder."""
    return Trap(tmp_path / "trap", tmp_path / "sprung")


@pytest.fixture
def stack() -> Iterator[DevStack]:
    """A stack that is not started yet, with a short path."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        made = DevStack(Path(folder), ("--flower", *SCRIPTED))
        try:
            yield made
        finally:
            made.kill()


def run_in(trap: Trap, *argv: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program there, to its end."""
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("NEURAPHAGE_", "ANTHROPIC_"))}
    return subprocess.run(
        argv, cwd=trap.folder, env=env or clean, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def test_the_trap_works(trap: Trap) -> None:
    """Without it the other tests would show nothing: Python and Celery, as they are, import from the folder."""
    run_in(trap, sys.executable, "-c", "import colorsys")
    assert [line.split()[0] for line in trap.sprung] == ["colorsys"]
    run_in(trap, CELERY, "-A", "usercustomize", "report")
    assert trap.sprung[1].startswith("usercustomize in ")


def test_run_and_the_stack_that_it_starts(trap: Trap, stack: DevStack) -> None:
    """Every built-in tool works in the folder: the search child, the runner of the spool and its command, too."""
    (trap.folder / "one.txt").write_text("value=41\n", encoding="utf-8")
    arguments = ("add up", *SCRIPTED, "--dir", str(trap.folder), "--allow", "*")
    ran = run_in(trap, SCRIPT, "run", *arguments, env=stack.env)
    assert trap.sprung == []
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (trap.folder / TOTAL).read_text(encoding="utf-8") == "41\n"


def test_dev_with_flower_and_celery_beside_it(trap: Trap, stack: DevStack) -> None:
    """`dev --flower`, and then each of Celery's own commands of the documents: by its console script, in the folder."""
    stack.start(cwd=trap.folder)
    settings = settings_of_running_stack(Settings(data_dir=stack.data_dir))
    urls = {
        "NEURAPHAGE_STATE_URL": settings.state_url.get_secret_value(),
        "NEURAPHAGE_BROKER_URL": settings.broker_url.get_secret_value(),
    }
    env = stack.env | urls | {"ANTHROPIC_API_KEY": "a-key-of-tests", "DJANGO_SETTINGS_MODULE": "theirs"}
    pid_file, log = stack.data_dir.parent / "multi.pid", stack.data_dir.parent / "multi.log"
    files = (f"--pidfile={pid_file}", f"--logfile={log}")
    options = ("-P", "threads", "-c", "1", "-Q", "np.control", "-l", "INFO")
    for words in (
        ("-A", "neuraphage.celery_app", "report"),
        ("-A", "neuraphage.celery_app", "inspect", "ping"),
        ("-A", "neuraphage.celery_app", "multi", "start", "detached", *options, *files),
    ):
        ran = run_in(trap, CELERY, *words, env=env)
        assert (ran.returncode, trap.sprung) == (0, []), ran.stdout + ran.stderr
    wait_for(lambda: log.exists() and " ready." in log.read_text(encoding="utf-8"), "the detached worker")
    os.kill(int(pid_file.read_text(encoding="utf-8")), signal.SIGTERM)
    wait_for(lambda: not pid_file.exists(), "its end")
    (trap.folder / "workers.py").unlink()  # with it in place -A workers.app is refused, see below
    schedule = str(stack.data_dir.parent / "schedule")
    for app in ("workers.app", "workers.app:app", "neuraphage.celery_app"):
        _start_and_end(trap, env, ("-A", app, "worker", *options, "-n", "here@%h"), " ready.")
        _start_and_end(trap, env, ("-A", app, "beat", "-s", schedule, "-l", "INFO"), "beat: Starting")
    assert trap.sprung == []


def _start_and_end(trap: Trap, env: dict[str, str], words: tuple[str, ...], ready: str) -> None:
    log = trap.folder.parent / "celery.log"
    with log.open("wb") as output:
        process = subprocess.Popen([CELERY, *words], cwd=trap.folder, env=env, stdout=output, stderr=output)
    try:
        wait_for(lambda: ready in log.read_text(encoding="utf-8") or process.poll() is not None, ready)
        assert process.poll() is None, log.read_text(encoding="utf-8")
    finally:
        process.terminate()
        process.wait(LIMIT_S)


@pytest.mark.parametrize("command", ["worker", "beat", "report", "flower"])
def test_a_package_that_calls_itself_ours_is_not_believed(trap: Trap, command: str) -> None:
    """A `workers` with our own words in it, and an app: Celery would load it with the passwords of the process."""
    (trap.folder / "workers.py").unlink()
    (trap.folder / "workers").mkdir()
    spring = (trap.folder / "colorsys.py").read_text(encoding="utf-8")
    (trap.folder / "workers" / "__init__.py").write_text(f'OWNER = "neuraphage"\n{spring}', encoding="utf-8")
    (trap.folder / "workers" / "app.py").write_text(spring, encoding="utf-8")
    ran = run_in(trap, CELERY, "-A", "workers.app", command)
    assert trap.sprung == []
    assert ran.returncode == 1
    assert "another neuraphage than the one that runs; write -A neuraphage.celery_app" in ran.stderr


def test_a_current_folder_that_is_gone_hides_nothing(tmp_path: Path) -> None:
    """Celery's commands work there as elsewhere."""
    (tmp_path / "gone").mkdir()
    script = f"cd {tmp_path}/gone && rmdir {tmp_path}/gone && exec {CELERY} -A neuraphage.celery_app report"
    ran = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert "celery_command" not in ran.stderr


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        (":/a", "/a"),
        ("/a:", "/a"),
        (".:/a:./:/b", "/a:/b"),
        ("/a::/b", "/a:/b"),
        ("vendor:/a", "vendor:/a"),
        ("", None),
        (":", None),
    ],
)
def test_what_means_the_current_folder_is_not_handed_on(path: str, kept: str | None) -> None:
    """An empty entry of PYTHONPATH is the usual slip; every process of a stack would import from there."""
    env = without_current_folder({"PYTHONPATH": path, "HOME": "/h"})
    assert env.get("PYTHONPATH") == kept
    assert (env["PYTHONSAFEPATH"], env["HOME"]) == ("1", "/h")


def test_no_server_program_of_the_current_folder_runs(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty entry of PATH, or a dot, means another place in each folder; the server gets the password."""
    monkeypatch.chdir(trap.folder)
    monkeypatch.setattr("neuraphage.dev.binary.embedded_path", lambda: None)
    with pytest.raises(StackError, match="no Redis or Valkey server to run"):
        find_binary({"PATH": ":.:bin"})
    assert trap.sprung == []
