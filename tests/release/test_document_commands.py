"""The commands of the README as they stand there, on a real stack. (RUNBOOK.md has tests/deploy/test_runbook.py.)"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from devstack import SCRIPTED, DevStack, wait_for
from neuraphage.dev.local_model import scripted_environ
from neuraphage.settings import Settings
from neuraphage.testing.scripted_api import ScriptedReply, ScriptedServer, ScriptRequest, reply
from patience import PATIENCE_S
from releasekit import BLOCKS

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
LINE_LIMIT_S = PATIENCE_S
WAITS = 3
"""Exit code of a command that followed a task until it asked."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The current folder of the reader, with the project that the README speaks of."""
    (tmp_path / "my-project").mkdir()
    (tmp_path / "my-project" / "a.txt").write_text("value=1\n", encoding="utf-8")
    return tmp_path


def typed(line: str, stack: DevStack, folder: Path, task_id: str = "") -> subprocess.CompletedProcess[str]:
    """What a shell makes of one line."""
    env = {**stack.env, "TASK": task_id}
    return subprocess.run(
        ["bash", "-uc", line],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LINE_LIMIT_S,
        check=False,
    )


def test_run(stack: DevStack, folder: Path) -> None:
    """It shows the task until that asks; without a terminal it says how to answer."""
    line = BLOCKS["run"].splitlines()[0]
    ran = typed(" ".join([line, *SCRIPTED]), stack, folder)  # a stack with a script is never taken for a model
    assert ran.returncode == WAITS, ran.stderr
    assert "write_file" in ran.stdout
    assert "neuraphage" in ran.stdout + ran.stderr


def test_a_model_of_ones_own(stack: DevStack, folder: Path) -> None:
    """A stack that is started for it calls the server that the line names, by the model's name alone, without a key."""
    asked: list[ScriptRequest] = []

    def answered(request: ScriptRequest) -> ScriptedReply:
        asked.append(request)
        return reply("All of them have hints.")

    with ScriptedServer({"main": answered}) as server:
        line = BLOCKS["run"].splitlines()[1].replace("http://127.0.0.1:8080", server.url)
        fresh = DevStack(folder)  # only its environment: no stack runs, and no key is set
        fresh.env = scripted_environ({n: v for n, v in fresh.env.items() if not n.startswith("OPENAI_")})
        fresh.env["PATH"] = stack.env["PATH"]
        ran = typed(line, fresh, folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "All of them have hints." in ran.stdout
    assert [request.body["model"] for request in asked] == ["qwen3"]


def test_the_commands_of_other_terminals(stack: DevStack, folder: Path) -> None:
    """In the order in which they stand, from the submission to the history."""
    submit, *lines = BLOCKS["use"].splitlines()
    submitted = typed(submit, stack, folder)
    assert submitted.returncode == 0, submitted.stderr
    task_id = submitted.stdout.strip()
    for line in lines:
        ran = typed(line, stack, folder, task_id.rpartition("-")[2])
        assert ran.returncode == (WAITS if {"attach", "answer"} & set(line.split()) else 0), (
            line + ran.stdout + ran.stderr
        )
        assert ran.stdout, line
    stack.cli("cancel", task_id)


def test_the_python_lines(stack: DevStack, folder: Path) -> None:
    """As a script of its own, with the project's real path."""
    lines = BLOCKS["python"].replace("/path/to/my-project", str(folder / "my-project"))
    (folder / "task.py").write_text(lines, encoding="utf-8")
    ran = typed("python task.py", stack, folder)
    assert ran.returncode == 0, ran.stderr
    assert "The command said" in ran.stdout


def test_looking(stack: DevStack, folder: Path) -> None:
    """Each tells of this stack, and none of its password."""
    for line in BLOCKS["look"].splitlines():
        ran = typed(line, stack, folder)
        assert ran.returncode == 0, line + ran.stdout + ran.stderr
        assert str(stack.data_dir) in ran.stdout, line
        assert password(stack) not in ran.stdout + ran.stderr


def password(stack: DevStack) -> str:
    with stack.client() as client:
        return client.settings.state_url.get_secret_value().partition("//:")[2].partition("@")[0]


def test_the_celery_processes(stack: DevStack, folder: Path) -> None:
    """Each line starts a process that works, and that ends when asked."""
    with stack.client() as client:
        settings: Settings = client.settings
    env = {
        **stack.env,
        "NEURAPHAGE_STATE_URL": settings.state_url.get_secret_value(),
        "NEURAPHAGE_BROKER_URL": settings.broker_url.get_secret_value(),
        "NEURAPHAGE_DATA_DIR": str(folder / "data"),
        "NEURAPHAGE_NAMESPACE": "readme",
        "ANTHROPIC_API_KEY": "a-key-of-tests",
    }
    lines = BLOCKS["celery"].splitlines()
    logs = [folder / f"{number}.log" for number in range(len(lines))]
    started = []
    for line, log in zip(lines, logs, strict=True):
        with log.open("wb") as output:
            argv = ["bash", "-c", f"exec {line}"]
            started.append(subprocess.Popen(argv, cwd=folder, env=env, stdout=output, stderr=output))
    try:
        for line, log in zip(lines, logs, strict=True):
            word = "beat: Starting" if " beat " in line else " ready."
            wait_for(lambda log=log, word=word: word in log.read_text(encoding="utf-8"), line)
    finally:
        for process in started:
            process.terminate()
    assert [process.wait(LINE_LIMIT_S) for process in started] == [0, 0, 0]


def test_the_stack_is_the_one_of_the_readme(stack: DevStack) -> None:
    """Its words have started it, with a script in place of a model that needs a key."""
    assert BLOCKS["dev"] == " ".join(["neuraphage", "dev", *stack.arguments[: -len(SCRIPTED)]])


def test_every_block_is_run_here() -> None:
    """No block of the README is left out."""
    used = set(re.findall(r'BLOCKS\["([\w-]+)"\]', Path(__file__).read_text(encoding="utf-8")))
    assert used == set(BLOCKS)
