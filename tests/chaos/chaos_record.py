"""What a process is doing, read from what is stored and from what the world shows, never from the process itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from neuraphage.model.effect import MODEL_ENTRY, EffectState, JournalEntry
from neuraphage.model.task import Status, TaskRecord


class Doing(StrEnum):
    """What a process does with one task."""

    CLAIMED = "claimed"
    """It holds the lease and has announced nothing under it yet."""
    STREAMING = "streaming"
    IN_TOOL = "in a tool"
    COMMITTING = "committing"
    """The effect has ended, as its own record shows, and its outcome is not stored yet."""
    BETWEEN = "between finish and claim"
    """It has ended a turn, and nobody has claimed the next one."""


class Victim(StrEnum):
    """What is killed."""

    THREADS = "threads worker"
    PARENT = "prefork parent"
    CHILD = "prefork child"
    CONTROL = "control"
    BEAT = "beat"
    SERVER = "server"


def doing(
    record: TaskRecord, journal: Mapping[str, JournalEntry], answered: Mapping[str, bool], lines: Iterable[str]
) -> Doing | None:
    """What the last holder of a task does with it.

    Args:
        record: the task.
        journal: of its present turn.
        answered: request id -> whether the provider has sent its newest answer to the end.
        lines: of the task's log, which its commands write.

    Returns:
        None when it does nothing with it: the task is over, new, or waits.
    """
    if record.place == "outbox" and record.status is Status.RUNNING:
        return Doing.BETWEEN
    if record.place != "leases":
        return None
    model = journal.get(MODEL_ENTRY)
    if model is None:
        return Doing.CLAIMED
    if model.state is not EffectState.COMPLETED:
        if model.state is not EffectState.STARTED or model.fence != record.fence:
            return Doing.CLAIMED
        return Doing.COMMITTING if answered.get(model.request_id or "") else Doing.STREAMING
    started = [entry for entry in journal.values() if entry.state is EffectState.STARTED]
    if not started:
        return Doing.COMMITTING
    if started[0].fence != record.fence:
        return Doing.CLAIMED
    ended = started[0].tool == "run_command" and _all_ended(lines)
    return Doing.COMMITTING if ended else Doing.IN_TOOL


def _all_ended(lines: Iterable[str]) -> bool:
    words = [line.split()[-1] for line in lines]
    return bool(words) and words.count("start") == words.count("end")
