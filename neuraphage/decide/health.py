"""Judges worker processes by what they last wrote down. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from neuraphage.model.health import Health, HealthRecord

MISSED_PERIODS = 3
"""So many periods without a record mean that the process does not answer, or that what it needs is away."""


def assess(record: HealthRecord, now_s: float) -> Health:
    """Judge one process by its last record.

    Args:
        record: of a process that exists.
        now_s: boot time, seconds.
    """
    limit_s = record.period_s * MISSED_PERIODS
    live = now_s - record.at_s <= limit_s
    problems = []
    if not live:
        problems.append(f"it has not answered for {now_s - record.at_s:.1f} s")
    if record.at_s - record.stored_at_s > limit_s:
        problems.append(record.refusal or "the state server takes no writes of it")
    if not record.consuming:
        problems.append("it takes in no messages from the broker")
    return Health(record.name, record.pid, live, not problems, tuple(problems))


def overall(processes: Iterable[Health]) -> tuple[bool, bool]:
    """(live, ready) of a host: all its worker processes are, and there is at least one."""
    known = list(processes)
    return bool(known) and all(p.live for p in known), bool(known) and all(p.ready for p in known)
