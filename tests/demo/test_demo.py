"""The demo as people run it, and the controls that show that it can fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import psutil
import pytest

from neuraphage.dev.demo_kills import RUNS_LOG
from patience import PATIENCE_S
from trapkit import Trap

SCRIPT = str(Path(sys.executable).with_name("neuraphage"))
PATIENT = ("--patience", str(PATIENCE_S / 2))
"""A machine that does other things too may need longer for each step than a person at a terminal waits."""
pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]


@dataclass(frozen=True)
class DemoRun:
    """One run of the command, and the folder that it kept."""

    code: int
    out: str
    folder: Path

    def value(self, what: str) -> str:
        """The value of one line of the table."""
        line = next((line for line in self.out.splitlines() if line.strip().startswith(what)), None)
        assert line is not None, f"no line {what!r} in:\n{self.out}"
        return line.strip().removeprefix(what).split()[0]


class StartedDemo:
    """The command as a process, with its temporary folder in ours, kept afterwards."""

    def __init__(
        self, tmp_path: Path, *arguments: str, settings: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        env = {n: v for n, v in os.environ.items() if not n.startswith(("NEURAPHAGE_", "ANTHROPIC_"))}
        env |= {"TMPDIR": str(tmp_path), **(settings or {})}
        self._folder = tmp_path
        argv = [SCRIPT, "demo", "--keep", *arguments]
        self._process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ended(self) -> DemoRun:
        """Wait for its end."""
        try:
            out, err = self._process.communicate(timeout=PATIENCE_S)
        finally:
            self._process.terminate()
        assert "Traceback" not in err, err
        return DemoRun(self._process.returncode, out + err, next(self._folder.glob("neuraphage-demo-*")))


@pytest.fixture(scope="module", autouse=True)
def without_recovery(tmp_path_factory: pytest.TempPathFactory) -> StartedDemo:
    """A demo that mostly waits for a worker that never comes: it does so beside the other tests."""
    return StartedDemo(
        tmp_path_factory.mktemp("off"), "--patience", "150", settings={"NEURAPHAGE_RECOVERY_POLICY": "off"}
    )


def copy_of_project(tmp_path: Path) -> Path:
    """The broken project, to be edited."""
    project = tmp_path / "edited"
    with as_file(files("neuraphage.dev") / "demo_project") as packaged:
        shutil.copytree(packaged, project)
    return project


def left_over(folder: Path) -> list[psutil.Process]:
    """Processes that still name the folder in their arguments or environment."""
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        words = (process.info["cmdline"] or []) + list((process.info["environ"] or {}).values())
        if process.pid != os.getpid() and any(str(folder) in word for word in words):
            found.append(process)
    return found


def test_the_demo_holds(tmp_path: Path) -> None:
    """Both kills hit, work goes on, nothing is paid or run twice, and no process is left behind.

    The current folder would take over every process that imports from it, or looks for its programs there.
    """
    trap = Trap(tmp_path / "trap", tmp_path / "sprung")
    dotted = {"PATH": f":.:{os.environ['PATH']}"}
    run = StartedDemo(tmp_path, *PATIENT, settings=dotted, cwd=trap.folder).ended()
    assert trap.sprung == []
    assert run.code == 0, run.out
    assert "It holds." in run.out
    assert "goes on with the reply that had begun" in run.out
    # on a slow machine the tests may end before the next worker has come: then it reads what they said
    assert re.search("run_command still runs: attached to it|read the result of the command that had ended", run.out)
    assert run.value("committed replies paid again") == "0"
    assert run.value("commands started again") == "0"
    assert run.value("replies asked for again after a kill") == "0"
    assert len(re.findall(r"^kill -9 \d+", run.out, re.MULTILINE)) == 2
    assert (
        len((run.folder / "project" / RUNS_LOG).read_text(encoding="utf-8").splitlines()) == 3
    )  # two of the task, one afterwards
    assert left_over(run.folder) == []


def test_without_the_spool_a_command_is_started_again(tmp_path: Path) -> None:
    """Without its own process the running command dies with the worker, and the table says so."""
    path = filter(None, (str(Path(__file__).with_name("unspooled")), os.environ.get("PYTHONPATH")))
    run = StartedDemo(tmp_path, *PATIENT, settings={"PYTHONPATH": os.pathsep.join(path)}).ended()
    assert run.code == 1, run.out
    assert "It does not hold:" in run.out
    assert run.value("commands started again") == "1"


def test_an_edited_project_fails(tmp_path: Path) -> None:
    """A fault that the script does not know stays: the demo does not claim that the tests pass."""
    project = copy_of_project(tmp_path)
    test_file = project / "tests" / "test_basket.py"
    quick = test_file.read_text(encoding="utf-8").replace("sleep(0.8)", "sleep(0.1)")
    test_file.write_text(quick + "\n\ndef test_of_ours():\n    assert total_cents([]) == 1\n", encoding="utf-8")
    run = StartedDemo(tmp_path, *PATIENT, "--project", str(project)).ended()
    assert run.code == 1, run.out
    assert run.value("the project's own tests") == "fail"
    assert run.value("the task is") == "Failed"


def test_with_recovery_off_nobody_goes_on(without_recovery: StartedDemo) -> None:
    """Without recovery the first kill is the end. A slow machine takes a minute to start its stack, hence 150 s."""
    run = without_recovery.ended()
    assert run.code == 1, run.out
    assert run.value("killed while a reply streamed: went on after") == "never"
    assert "promised: Completed" in run.out
