"""A tool that holds its worker's interpreter for longer than a lease harms neither its own task nor its neighbours."""

from __future__ import annotations

import pytest

from stackkit import Stack, command, task_prompt, turn, wait_for
from stackkit.scripts import SLOW

pytestmark = pytest.mark.real_workers
STUCK_S = 12
"""More than two leases of the stack."""


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_neither_its_task_nor_its_neighbours_are_recovered(stack: Stack, pool: str) -> None:
    """A keyed tool runs once; tasks of the same process, in the midst of replies and commands, go on to their end."""
    stack.start_plain_worker(f"stuck-{pool}", "-P", pool, "-c", "4", app="stackkit.stuck_app")
    text = "A long reply, which is cut in two by its neighbour. " * 8
    neighbours = [
        stack.submit(task_prompt(turn(text, **SLOW), turn("done"))),
        stack.submit(task_prompt(turn(text, **SLOW), turn("done"))),
        stack.submit(task_prompt(turn("run", command("touch begun; sleep 6; echo late")), turn("done"))),
    ]
    for task in neighbours:
        wait_for(lambda: stack.record(task).place == "leases", "the neighbours to run")  # noqa: B023 - called before the loop goes on
    stuck = stack.submit(task_prompt(turn("stick", ("stick", {"seconds": STUCK_S})), turn("done")))
    wait_for(lambda: stack.lines(stuck, "runs.txt"), "the interpreter to be held")
    records = stack.finished(stuck, *neighbours, limit_s=120.0)
    assert [record.counters.recoveries_total for record in records] == [0] * 4
    assert len(stack.lines(stuck, "runs.txt")) == 1
