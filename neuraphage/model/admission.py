"""Slots of tasks at work, and the line of those that wait for one."""

from __future__ import annotations

from neuraphage.model.base import Frozen

ALL_TASKS = "*"
"""The pool of slots that every task takes one of, by `max_running`; after `NAME=` it is each value of a label."""
USUAL_PRIORITY = 2
"""Of a task that names none: 0 comes first, 4 last."""


class SlotPool(Frozen):
    """Slots of all tasks, or of those of a label.

    Args:
        name: `*` for all tasks, else a label: `repo=web`.
        most: slots that there are; None where limits no longer name it.
        held: slots that tasks have.
    """

    name: str
    most: int | None
    held: int


class LinePart(Frozen):
    """Tasks in line that may stand in for each other: first come, first served.

    Args:
        priority: 0 comes first.
        key: value of the label by which keys take turns; empty for none.
        pools: labels with limits that these tasks have.
        waiting: how many stand in it.
    """

    priority: int
    key: str
    pools: tuple[str, ...]
    waiting: int


class LinePlace(Frozen):
    """Where a task stands in line.

    Args:
        part: its part of the line.
        before: tasks of that part that stand before it.
        in_line: tasks in line in all.
        since_ms: since when, server time.
        taken: pools that it needs a slot of and that have none free.
    """

    part: LinePart
    before: int
    in_line: int
    since_ms: int
    taken: tuple[SlotPool, ...]


class AdmissionState(Frozen):
    """Who is at work and who waits for that, where it is limited.

    Args:
        pools: slots; none where nothing is limited.
        parts: of the line, those of a lower priority number first.
    """

    pools: tuple[SlotPool, ...] = ()
    parts: tuple[LinePart, ...] = ()
