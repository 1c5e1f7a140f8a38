"""Two tasks in one directory, on real workers: one command at a time, whoever is killed meanwhile."""

from __future__ import annotations

import pytest

from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import BlockedDetail, Status
from stackkit import HELD, Stack, command, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers
SECOND = command("echo second >> log.txt")


def test_an_unlisted_command_is_asked_about_waits_for_its_directory_and_runs(stack: Stack) -> None:
    """Asked, allowed, blocked by a command of another task whose worker is killed, then run once, after that one."""
    worker = stack.start_worker(concurrency=2)
    first = stack.submit(task_prompt(turn("", HELD), turn("done")))
    stack.held(first)
    folder = str(stack.work_dir(first))
    second = stack.submit(task_prompt(turn("", SECOND), turn("done")), working_dir=folder, allow=())
    wait_for(lambda: stack.record(second).prompts, "the question about the command")
    prompt = stack.record(second).prompts[0]
    assert prompt.kind is PromptKind.PERMISSION
    assert [line.task_id for one in stack.client.locks() for line in one.lines] == [first]  # who asks holds nothing
    stack.client.answer(second, "y", prompt_id=prompt.prompt_id)
    wait_for(lambda: stack.record(second).status is Status.BLOCKED, "the second task to wait")
    detail = stack.record(second).detail
    assert isinstance(detail, BlockedDetail)
    assert (detail.resource, detail.holder_task) == (f"workspace:{folder}", first)
    worker.kill()
    stack.start_worker(concurrency=2)
    wait_for(lambda: stack.events(first, "ToolAttached"), "the next worker to attach")
    assert stack.record(second).status is Status.BLOCKED  # the command goes on, and its lock with it
    (stack.work_dir(first) / "go").touch()
    stack.finished(first, second)
    assert stack.lines(first) == ["start", "end", "second"]
    assert [len(stack.events(second, kind)) for kind in ("UserInputNeeded", "ToolStarted", "ResourceLockWait")] == [
        1
    ] * 3
    assert stack.client.locks() == []


def test_a_holder_that_is_cancelled_lets_the_next_one_go_on_at_once(stack: Stack) -> None:
    """Its command is ended before that; the client that cancelled sends no sweep."""
    stack.start_worker(concurrency=2)
    first = stack.submit(task_prompt(turn("", HELD), turn("done")))
    stack.held(first)
    second = stack.submit(task_prompt(turn("", SECOND), turn("done")), working_dir=str(stack.work_dir(first)))
    wait_for(lambda: stack.record(second).status is Status.BLOCKED, "the second task to wait")
    stack.client.cancel(first)
    stack.finished(second)
    assert stack.lines(second) == ["start", "second"]
