"""Every legal move between statuses, as a table. The scripts of the store are bound to it: a move that has no row is
an error in them and stores nothing. A test drives every script in every status and compares.
"""

from __future__ import annotations

from collections.abc import Mapping

from neuraphage.model.task import Status

_Q, _R, _W, _B, _P = Status.QUEUED, Status.RUNNING, Status.WAITING_FOR_USER, Status.BLOCKED, Status.PAUSED
_C, _F, _X = Status.COMPLETED, Status.FAILED, Status.CANCELLED

MOVES: Mapping[Status, Mapping[Status, str]] = {
    _Q: {_R: "claim", _B: "another task is awaited", _P: "pause", _F: "it cannot begin any more", _X: "cancel"},
    _R: {
        _W: "a prompt is open",
        _B: "a lock or child is awaited",
        _P: "pause, or recovery left to a person",
        _C: "finish",
        _F: "finish, or recovery gave up",
        _X: "cancel",
    },
    _W: {
        _Q: "answer, input or another try at the reply",
        _P: "pause",
        _F: "its record cannot be used any more",
        _X: "cancel",
    },
    _B: {_Q: "wake", _P: "pause", _F: "what it awaits cannot come any more", _X: "cancel"},
    _P: {
        _Q: "resume",
        _B: "resume with a task still awaited",
        _W: "resume with a prompt still open",
        _F: "its record cannot be used any more",
        _X: "cancel",
    },
    _C: {_Q: "input or another try at the reply goes on with the conversation"},
    _F: {_Q: "retry or reset"},
    _X: {},
}


def is_legal(before: Status, after: Status) -> bool:
    """Whether the table has a row for this move; staying in a status that is not over is always legal."""
    if before is after:
        return bool(MOVES[before])
    return after in MOVES[before]
