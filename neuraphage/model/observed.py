"""How far observers have come, and the events that they have not dealt with."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from neuraphage.model.base import Frozen


class ObserverPlace(Frozen):
    """Where an observer is in the events of the namespace.

    Args:
        after: id of the last event that it was told of, or that is none of its kinds.
        begun: id of the one that it is being told of; one that is found so was perhaps told already.
    """

    after: str
    begun: str = ""


class PutBy(Frozen):
    """An event that an observer has failed on: it is tried again until its tries are used up.

    Args:
        observer: its name.
        event_id: of the event.
        kind, task_id, turn, at_ms, data: of the event; see Event.
        attempts: tries so far.
        due_ms: when it is tried again (server time); none once its tries are used up.
        error: of the last try.
    """

    observer: str
    event_id: str
    kind: str
    task_id: str = ""
    turn: int = 0
    at_ms: int | None = None
    data: dict[str, Any] = Field(default_factory=dict)
    attempts: int = 0
    due_ms: int | None = None
    error: str = ""

    @property
    def name(self) -> str:
        """What people call it: observer and event."""
        return f"{self.observer}@{self.event_id}"
