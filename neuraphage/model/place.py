"""Where a task stands that is not over: in exactly one of four places."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from neuraphage.model.task import Status


class Place(StrEnum):
    """The four places. What has no place (an ended task) has the empty text, or None in a record."""

    OUTBOX = "outbox"
    """Its next turn should run."""
    LEASES = "leases"
    """A process holds it."""
    TIMERS = "timers"
    """It waits for a time."""
    WAITS = "waits"
    """It waits for a person, a lock, another task or a slot."""


PLACES_OF: Mapping[Status, tuple[Place, ...]] = {
    Status.QUEUED: (Place.OUTBOX, Place.TIMERS, Place.WAITS),
    Status.RUNNING: (Place.LEASES, Place.OUTBOX, Place.TIMERS),
    Status.WAITING_FOR_USER: (Place.WAITS,),
    Status.BLOCKED: (Place.WAITS,),
    Status.PAUSED: (Place.WAITS,),
}
"""Where a task of each status may stand; of several places that it is found in, repair keeps the first."""
