"""Where a task stands in line, and what it waits for, in a sentence each. Pure."""

from __future__ import annotations

from neuraphage.model.admission import ALL_TASKS, LinePlace, SlotPool


def taken_text(pool: SlotPool) -> str:
    """Why there is no slot."""
    whose, setting = ("tasks", "max_running") if pool.name == ALL_TASKS else (f"of {pool.name}", "label_max_running")
    return f"{pool.held} {whose} are at work, and {pool.most} may be ({setting})."


def place_text(line: LinePlace) -> str:
    """Its place, without a full stop."""
    key = f", key {line.part.key}" if line.part.key else ""
    place = f"It is number {line.before + 1} of {line.part.waiting} with priority {line.part.priority}{key}"
    return f"{place}; {line.in_line} stand in line in all"
