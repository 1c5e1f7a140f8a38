"""Judges worker processes by what they last wrote down. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from neuraphage.model.health import Beat, Health

MISSED_BEATS = 3
"""So many periods without a beat mean that the process does not answer, or that what it needs is away."""


def assess(beat: Beat, now_s: float) -> Health:
    """Judge one process by its last beat.

    Args:
        beat: of a process that exists.
        now_s: boot time, seconds.
    """
    limit_s = beat.period_s * MISSED_BEATS
    live = now_s - beat.at_s <= limit_s
    problems = []
    if not live:
        problems.append(f"it has not answered for {now_s - beat.at_s:.1f} s")
    if beat.at_s - beat.stored_at_s > limit_s:
        problems.append(beat.refusal or "the state server takes no writes of it")
    if not beat.consuming:
        problems.append("it takes in no messages from the broker")
    return Health(beat.name, beat.pid, live, not problems, tuple(problems))


def overall(processes: Iterable[Health]) -> tuple[bool, bool]:
    """(live, ready) of a host: all its worker processes are, and there is at least one."""
    known = list(processes)
    return bool(known) and all(p.live for p in known), bool(known) and all(p.ready for p in known)
