"""Completion of task ids: what is offered, and that a real shell gets it under both names of the command."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from clikit import Bench
from devstack import LIMIT_S
from neuraphage.cli import completion
from neuraphage.cli.completion import task_ids

BEGINNING = "task-01a2b3c4-0000-7000-8000-"


@pytest.fixture
def two_tasks(bench: Bench) -> tuple[str, str]:
    """Two whose ends differ in their first character."""
    one, two = (bench.kit.create(task_id=f"{BEGINNING}{end}00000000001") for end in "ab")
    return one, two


def test_what_is_offered(bench: Bench, two_tasks: tuple[str, str]) -> None:
    """The short ends, or the form that was begun; each with what tells the tasks apart."""
    assert dict(task_ids("")) == {"a00000000001": "Queued  A task", "b00000000001": "Queued  A task"}
    assert [found for found, _ in task_ids("a0")] == ["a00000000001"]
    assert [found for found, _ in task_ids("task-")] == [two_tasks[1], two_tasks[0]]
    assert [found for found, _ in task_ids("01a2")] == [t.removeprefix("task-") for t in reversed(two_tasks)]
    assert task_ids("ffff") == []
    for found, _ in task_ids(""):
        assert bench.client.find(found) in two_tasks


def test_no_server_no_noise(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt is no place for an error."""
    assert task_ids("a") == []
    monkeypatch.setenv("NEURAPHAGE_STATE_URL", "redis://127.0.0.1:1/1")
    assert task_ids("a") == []
    assert capfd.readouterr() == ("", "")


def test_a_server_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt comes back while the server has still not answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("NEURAPHAGE_STATE_URL", f"redis://127.0.0.1:{server.getsockname()[1]}/1")
        monkeypatch.setattr(completion, "LIMIT_S", 0.1)
        assert task_ids("a") == []
        (looking,) = [thread for thread in threading.enumerate() if thread.name == completion.THREAD]
    looking.join(LIMIT_S)
    assert not looking.is_alive()


@pytest.mark.parametrize(("name", "call"), [("neuraphage", "show b"), ("np", "run --resume b")])
def test_in_bash(name: str, call: str, two_tasks: tuple[str, str]) -> None:
    """By the very lines that --show-completion prints."""
    scripts = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{scripts}:{os.environ['PATH']}"}
    asked = f"COMP_WORDS=({name} {call}); COMP_CWORD={len(call.split())}; _{name}_completion {name}"
    lines = f'eval "$({name} --show-completion bash)"; {asked}; echo "${{COMPREPLY[@]}}"'
    ended = subprocess.run(["bash", "-c", lines], env=environment, capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("b00000000001\n", "")
