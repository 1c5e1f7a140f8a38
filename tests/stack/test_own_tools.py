"""A tool of one's own in real workers: killed in it, changed under it, and not to be loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.model.task import Status
from stackkit import Stack, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers
CHARGE = "stackkit.own_tools:charge"
PROMPT = task_prompt(turn("I charge.", ("charge", {"customer": "ada", "cents": 300})), turn("done"))


def calls(folder: Path) -> int:
    """How often the tool was called."""
    file = folder / "calls"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


def called(folder: Path, number: int) -> None:
    wait_for(lambda: calls(folder) == number, f"call {number}")


def told(stack: Stack, task: str) -> str:
    """What the model was told of the call."""
    blocks = [block for entry in stack.client.conversation(task) for block in entry["content"]]
    (result,) = [block["content"] for block in blocks if block["type"] == "tool_result"]
    return str(result)


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_keyed_tool_has_one_effect_through_two_kills(stack: Stack, pool: str) -> None:
    """kill -9 while it runs, twice: it is called again with the same key, and its result is the third call's."""
    worker = stack.start_worker(pool=pool, tools=CHARGE)
    task = stack.submit(PROMPT)
    folder = stack.work_dir(task)
    for number in (1, 2):
        called(folder, number)
        worker.kill()
        worker = stack.start_worker(pool=pool, tools=CHARGE)
    called(folder, 3)
    (folder / "go").touch()
    (record,) = stack.finished(task)
    assert record.status is Status.COMPLETED
    assert record.counters.recoveries_total == 2
    assert len(list((folder / "charges").iterdir())) == 1
    assert told(stack, task) == "charged ada"


def test_a_tool_that_changed_under_a_running_task_is_not_called_again(stack: Stack) -> None:
    """The next worker has another version of it: the model is told that the outcome is unknown."""
    worker = stack.start_worker(tools=CHARGE)
    task = stack.submit(PROMPT)
    folder = stack.work_dir(task)
    called(folder, 1)
    stack.start_worker(tools="stackkit.own_tools:charge_otherwise")
    worker.kill()
    stack.finished(task)
    assert calls(folder) == 1
    assert "its outcome is unknown" in told(stack, task)
    assert "it is version otherwise now" in told(stack, task)


def test_a_worker_starts_without_a_tool_that_cannot_be_loaded(stack: Stack) -> None:
    """Its log says so, and so does the result of a call."""
    worker = stack.start_worker(tools="nowhere_to_be_found:charge")
    task = stack.submit(PROMPT)
    stack.finished(task)
    assert "There is no tool 'charge'" in told(stack, task)
    assert "nowhere_to_be_found:charge: it cannot be imported" in told(stack, task)
    assert "tool not loaded: nowhere_to_be_found:charge: it cannot be imported" in worker.output()
