"""A tool that holds its worker's interpreter for longer than a lease harms neither its own task nor its neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.settings import Settings
from patience import PATIENCE_S
from stackkit import Stack, command, task_prompt, turn, wait_for
from stackkit.scripts import SLOW
from stackkit.stack import FAST

pytestmark = pytest.mark.real_workers
STUCK_S = 12
"""More than two leases of the stack."""
LONG_STUCK_S = 45
"""A lease of the default settings, a late last renewal, and the two sweeps that an expired one needs, and more."""


def hold_the_interpreter(stack: Stack, pool: str, seconds: int) -> None:
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
    stuck = stack.submit(task_prompt(turn("stick", ("stick", {"seconds": seconds})), turn("done")))
    wait_for(lambda: stack.lines(stuck, "runs.txt"), "the interpreter to be held")
    records = stack.finished(stuck, *neighbours, limit_s=PATIENCE_S + seconds)
    assert [record.counters.recoveries_total for record in records] == [0] * 4
    assert len(stack.lines(stuck, "runs.txt")) == 1


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_neither_its_task_nor_its_neighbours_are_recovered(stack: Stack, pool: str) -> None:
    """With a short lease."""
    hold_the_interpreter(stack, pool, STUCK_S)


def test_nor_with_the_settings_as_they_come(tmp_path: Path) -> None:
    """Waiting costs no processor, so the lease need not be short; the shared stack has other times."""
    with Stack(tmp_path, **{name: Settings.model_fields[name].default for name in FAST}) as stack:
        stack.ensure_shared()
        hold_the_interpreter(stack, "threads", LONG_STUCK_S)
        stack.check()
