"""The seam to hooks: what a turn asks of guards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from neuraphage.model.event_stream import EventPage
from neuraphage.model.hook import HookPoint, Judgement
from neuraphage.model.hook_payload import Observed, Payload
from neuraphage.model.observed import ObserverPlace, PutBy
from neuraphage.ports.effects import Interrupt


class Guards(Protocol):
    """Guards of this process."""

    @property
    def points(self) -> frozenset[HookPoint]:
        """Where there are any; a turn asks at no other point."""
        ...

    def judge(self, payload: Payload, interrupt: Interrupt | None) -> Judgement:
        """Ask the guards of the payload's point, in the order of their registration.

        Without an interrupt nothing breaks off what they do. One that fails, hangs or says what its point does not know
        has blocked.

        Raises:
            CancelRequested, LeaseLost: from the interrupt.
        """
        ...


class Observers(Protocol):
    """Observers of this process."""

    @property
    def observers(self) -> Mapping[str, frozenset[str]]:
        """Kinds of events that each is told of, by its name."""
        ...

    @property
    def longest_s(self) -> float:
        """How long the longest call of one may take."""
        ...

    def tell(self, name: str, told: Observed) -> str:
        """Tell an observer of an event.

        Returns:
            What went wrong, in a sentence; empty where nothing did.
        """
        ...


class ObserverStore(Protocol):
    """What is stored of observers. Every write is safe to repeat, and written only by who tells events now."""

    def begin(self, token: str, hold_ms: int) -> bool:
        """Become the one that tells events, for so long or until the next note; whether nobody else was."""
        ...

    def end(self, token: str) -> None:
        """Be it no more."""
        ...

    def now_ms(self) -> int:
        """Server time, milliseconds."""
        ...

    def places(self) -> dict[str, ObserverPlace]:
        """Where each observer is, by its name."""
        ...

    def put_by(self) -> list[PutBy]:
        """Events that observers failed on."""
        ...

    def events(self, after: str | None, kinds: frozenset[str]) -> EventPage:
        """A page of events behind an id; None for the end of the stream."""
        ...

    def note(self, token: str, observer: str, place: ObserverPlace | None, row: PutBy | None, hold_ms: int) -> bool:
        """Note where an observer is, and an event that it failed on.

        Args:
            token: of who tells events.
            observer: its name.
            place: where it is; None leaves it.
            row: the event; None for none.
            hold_ms: how long the token holds from now.

        Returns:
            Whether it was noted; else another one tells events by now.
        """
        ...

    def settle(self, token: str, row: PutBy, hold_ms: int) -> bool:
        """Note that an observer has dealt with an event that it had failed on; returns as `note`."""
        ...

    def again(self, row: PutBy) -> bool:
        """Have an event tried again from the first try; whether it was there."""
        ...


class NoGuards:
    """A process without guards."""

    @property
    def points(self) -> frozenset[HookPoint]:
        """See Guards."""
        return frozenset()

    def judge(self, payload: Payload, interrupt: Interrupt | None) -> Judgement:  # noqa: ARG002 - as the port has it
        """See Guards."""
        return Judgement()
