"""What a message came to, in a few words: the result that Flower and the log show. Of the content it has only the
task's name and the reason of a failure, both without secrets as they are stored."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.errors import AccessRefused, StoreError, StoreUnavailable
from neuraphage.model.effect import MarkerName
from neuraphage.model.place import Place
from neuraphage.model.task import Status
from neuraphage.ports import ClaimVerdict, CommitVerdict, Settled

NAME_CHARS = 60
FAILED = "task failed"
"""Begins the outcome of a turn that has ended its task as failed."""

REASON_CHARS = 200
"""Longest reason inside an outcome; the log has all of it."""


class Outcome(StrEnum):
    """What a message came to that began no turn, or whose turn did not settle."""

    DRAINING = "draining: passed on"
    LOST = "lease lost: another worker goes on"
    TAIL_LOST = "what is stored is not what this lease wrote last: the sweep goes on from it"
    TOO_NEW = "written by a newer release: left in the outbox"
    STORE_AWAY = "state server away: the sweep sends it again"
    STALE = "stale: nothing done"
    LEASED = "leased by another worker: nothing done"
    NOT_RUNNABLE = "not to run now: nothing done"


REFUSALS = frozenset({Outcome.STALE, Outcome.LEASED, Outcome.NOT_RUNNABLE})
"""Outcomes of a message whose claim was not granted."""


def refused(verdict: ClaimVerdict) -> Outcome:
    """Name the outcome of a claim that was not granted."""
    return Outcome[verdict.name]


def not_done(error: StoreError) -> str:
    """Name why a turn could not be claimed or written: a server that refuses is not away, and waits for an operator.

    Args:
        error: of the store; its words name commands, keys and users, never content.
    """
    if isinstance(error, AccessRefused):
        return f"not allowed by the state server, the sweep sends it again: {_short(str(error))}"
    if isinstance(error, StoreUnavailable):
        return (
            f"refused by the state server, the sweep sends it again: {_short(error.words)}"
            if error.words
            else (Outcome.STORE_AWAY.value)
        )
    return f"failed at the state server, the sweep sends it again: {_short(str(error))}"


def _short(text: str, limit: int = REASON_CHARS) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def settled_outcome(
    settled: Settled, marker: MarkerName | None, claimed_iteration: int, *, name: str = "", error: str = ""
) -> str:
    """Name the outcome of a turn.

    Args:
        settled: the answer to its last write.
        marker: the last one it has reached; None when its record could not be read.
        claimed_iteration: the turn that was claimed.
        name: of the task, for people.
        error: why it failed, if it did.
    """
    cancelled = settled.verdict is CommitVerdict.CANCELLED
    status = Status.CANCELLED if cancelled else settled.status
    word = _BY_STATUS.get(status) if status else None
    if word is None and settled.place == Place.TIMERS:
        word = "waiting for a retry"
    if word is None:
        word = "finished" if settled.iteration > claimed_iteration else "given back"
    at = "" if marker is None or status is Status.WAITING_FOR_USER else f": {marker.value}"
    why = f": {_short(error)}" if status is Status.FAILED and error else ""
    return f"{word}{at}{why}" + (f" ({_short(name, NAME_CHARS)})" if name else "")


_BY_STATUS = {
    Status.WAITING_FOR_USER: "waiting for user",
    Status.BLOCKED: "blocked",
    Status.PAUSED: "paused",
    Status.COMPLETED: "task completed",
    Status.FAILED: FAILED,
    Status.CANCELLED: "cancelled",
}
