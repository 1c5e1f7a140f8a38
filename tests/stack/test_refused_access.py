"""The state server's user loses a right under running workers, and gets it back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from neuraphage.errors import AccessRefused
from stackkit import Stack, task_prompt, turn, wait_for
from stackkit.scripts import HELD, SLOW

pytestmark = pytest.mark.real_workers


@pytest.fixture
def rights(stack: Stack) -> Iterator[Stack]:
    """The right comes back whatever happens."""
    yield stack
    set_right(stack, "+rpush")


def set_right(stack: Stack, rule: str) -> None:
    """Change what the user of all processes may do; connections that stand keep standing."""
    stack.admin.execute_command("ACL", "SETUSER", "default", rule)


def test_work_waits_for_a_right_that_was_taken_away(rights: Stack) -> None:
    """A reply and a command in hand are kept until the right returns, none is paid or run again; health tells why."""
    stack = rights
    worker = stack.start_worker()
    replying = stack.submit(task_prompt(turn("A reply that is paid while nothing can be stored. " * 3, **SLOW)))
    running = stack.submit(task_prompt(turn("run", HELD), turn("done")))
    stack.held(running)
    wait_for(lambda: stack.model_requests(replying), "the reply to begin")
    wait_for(lambda: stack.health() == (True, True), "all processes to be ready")
    set_right(stack, "-rpush")
    with pytest.raises(AccessRefused, match="RPUSH"):
        stack.submit(task_prompt(turn("done")))
    (stack.work_dir(running) / "go").touch()
    wait_for(lambda: stack.health() == (True, False), "the refusal to be seen")
    assert any("RPUSH" in problem for row in stack.health_rows() for problem in row.problems)
    wait_for(lambda: stack.model_requests(replying)[0]["outcome"] == "completed", "the reply to be over")
    wait_for(lambda: "RPUSH" in worker.output(), "the log to name the command")
    assert [stack.record(task).place for task in (replying, running)] == ["leases", "leases"]
    set_right(stack, "+rpush")
    records = stack.let_go(running) + stack.finished(replying)
    assert [record.counters.recoveries_total for record in records] == [0, 0]
    assert [record.counters.model_calls for record in records] == [2, 1]
    assert len(stack.model_requests(replying)) == 1
    wait_for(lambda: stack.health() == (True, True), "all processes to be ready again")
