"""A person is told of a prompt although the worker that owes the notice was killed, and once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from neuraphage.model.effect import MarkerName
from neuraphage.model.task import Status
from neuraphage.queue.names import RUN_QUEUE
from stackkit import Stack, task_prompt, turn, wait_for
from stackkit.process import StackProcess

pytestmark = pytest.mark.real_workers
ORDERS = "die-at"
"""As in `stackkit.mortal_app`, which must not be imported here: it makes a store mortal."""
Start = Callable[..., StackProcess]
ASKS = task_prompt(turn("", ("ask_user", {"question": "Which colour?"})), turn("done"))


@pytest.fixture
def told(stack: Stack, tmp_path: Path) -> Path:
    """A line for each notice: its event and its prompt."""
    (tmp_path / "tell").write_text(f'echo "$PROMPT_EVENT $PROMPT_ID" >> {tmp_path}/told\n', encoding="utf-8")
    return tmp_path / "told"


@pytest.fixture
def start(stack: Stack, told: Path) -> Start:
    """Starts a worker of one process that runs the command, of an app that may kill itself."""

    def begin(name: str, app: str = "workers.app", **settings: object) -> StackProcess:
        argv = (sys.executable, "-m", "celery", "-A", app, "worker", "-l", "INFO", "-P", "threads", "-c", "2")
        values = {"prompt_command": f"/bin/sh {told.parent}/tell", **settings}
        worker = stack._celery(name, (*argv, "-Q", RUN_QUEUE, "-n", f"{name}@%h"), model_key=True, settings=values)
        worker.start()
        return worker

    return begin


def lines(told: Path) -> list[str]:
    return told.read_text(encoding="utf-8").splitlines() if told.exists() else []


def test_a_worker_that_dies_right_behind_the_commit(stack: Stack, told: Path, start: Start) -> None:
    """The write that opens the prompt is its last act; of two others one tells, once."""
    orders = stack.folder / ORDERS
    orders.mkdir(exist_ok=True)
    (orders / MarkerName.WAITING_FOR_USER.value).touch()
    mortal = start("mortal", "stackkit.mortal_app")
    task_id = stack.submit(ASKS)
    wait_for(lambda: not mortal.is_alive(), "the worker's death")
    record = stack.record(task_id)
    assert record.status is Status.WAITING_FOR_USER
    assert lines(told) == []
    for name in ("second", "third"):
        start(name)
    expected = [f"opened {record.prompts[0].prompt_id}"]
    wait_for(lambda: lines(told) == expected, "the notice")
    stack.client.answer(task_id, "green")
    stack.finished(task_id)
    assert lines(told) == expected


def test_a_prompt_that_waits_longer_than_its_worker_lives(stack: Stack, told: Path, start: Start) -> None:
    """Who opened it has told so, and is killed; another one tells that it has waited long."""
    first = start("first", prompt_wait_s=600)
    task_id = stack.submit(ASKS)
    wait_for(lambda: len(lines(told)) >= 1, "the first notice")
    first.kill()
    start("second", prompt_wait_s=1)
    (prompt,) = stack.record(task_id).prompts
    wait_for(lambda: len(lines(told)) >= 2, "the second notice")
    assert lines(told) == [f"opened {prompt.prompt_id}", f"waiting {prompt.prompt_id}"]
