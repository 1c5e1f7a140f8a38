"""Tells observers of events: at least once each, in order, and no turn waits for it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from neuraphage.decide.event_position import START, gap_after, number
from neuraphage.model.event import Event
from neuraphage.model.event_stream import GapKind
from neuraphage.model.hook_payload import Observed
from neuraphage.model.observed import ObserverPlace, PutBy
from neuraphage.ports import Clock, Observers, ObserverStore

log = logging.getLogger(__name__)

HOLD_SLACK_MS = 10_000
"""Who tells events and does not come back is followed by another one so long after the longest call of a hook."""
RUN_S = 20.0
"""How long one run begins to tell events; the next one goes on."""
MOST_PUT_BY = 1_000
"""Events that observers failed on and that are kept; of more the oldest is let go, which is logged."""
MAX_ERROR_CHARS = 2_000
ENDED = "the process that told it ended before it came back"
SKIPPED, NOTHING = "another one tells events", "nothing to tell"


class _Followed(Exception):
    """Another one tells events by now."""


@dataclass(slots=True)
class Told:
    """What a run has told.

    Args:
        events: that observers have dealt with.
        failed: that they failed on.
    """

    events: int = 0
    failed: int = 0

    def __str__(self) -> str:
        return f"told {self.events}, failed {self.failed}" if self.events or self.failed else NOTHING


@dataclass(slots=True)
class Observing:
    """One process that tells events.

    Args:
        store: places of observers, and the events.
        observers: what is told.
        clock: local time.
        max_attempts: tries of one event.
        retry_ms: wait before the second try; each further one is twice as long.
    """

    store: ObserverStore
    observers: Observers
    clock: Clock
    max_attempts: int
    retry_ms: int
    _token: str = ""
    _told: Told = field(default_factory=Told)

    @property
    def _hold_ms(self) -> int:
        return int(self.observers.longest_s * 1000) + HOLD_SLACK_MS

    def run(self, token: str) -> str:
        """Tell what is due, for a while.

        Args:
            token: random; names this run.

        Raises:
            StoreUnavailable, StoreError: the next run goes on.
        """
        if not self.observers.observers:
            return NOTHING
        if not self.store.begin(token, self._hold_ms):
            return SKIPPED
        self._token, self._told = token, Told()
        try:
            until_s = self.clock.boottime_s() + RUN_S
            self._retry(until_s)
            places = self.store.places()
            for name, kinds in self.observers.observers.items():
                self._follow(name, kinds, places.get(name), until_s)
        except _Followed:
            log.warning("telling observers was taken over by another process")
            return str(self._told)
        self.store.end(token)
        return str(self._told)

    # --- new events ---

    def _follow(self, name: str, kinds: frozenset[str], place: ObserverPlace | None, until_s: float) -> None:
        if place is None:  # it is told of what happens from now on
            page = self.store.events(None, kinds)
            self._note(name, ObserverPlace(after=page.after or START))
            return
        is_event = True
        while self.clock.boottime_s() < until_s:
            page, begun_at = self.store.events(place.after, kinds), place.after
            why = gap_after(begun_at, is_event=is_event, told="", ends=page.ends) if is_event else None
            if why is not None:
                place, is_event = self._missed(name, place, why, page.ends.last), False
                continue
            for event in page.events:
                place = self._event(name, place, event)
                if self.clock.boottime_s() >= until_s:
                    self._note(name, place)
                    return
            if page.after == begun_at:
                return
            place, is_event = ObserverPlace(after=page.after), True
            self._note(name, place)

    def _missed(self, name: str, place: ObserverPlace, why: GapKind, last: str) -> ObserverPlace:
        """Events may be gone that the observer was never told of: people find that among what it failed on."""
        text, before = "events behind this one were dropped (namespace_events_max) before it was told of them", START
        if why is GapKind.LOST:
            text = "the state server has lost events: some may not be told, others told again"
            before = min(place.after, last or START, key=number)
        log.error("observer %s: %s", name, text)
        row = PutBy(observer=name, event_id=place.after, kind="", attempts=self.max_attempts, error=text)
        self._put_by(row, ObserverPlace(after=before))
        return ObserverPlace(after=before)

    def _event(self, name: str, place: ObserverPlace, event: Event) -> ObserverPlace:
        event_id = event.event_id or ""
        after = ObserverPlace(after=event_id)
        if place.begun == event_id:
            self._died(_row(name, event), after)
            return after
        self._note(name, ObserverPlace(after=place.after, begun=event_id))
        error = self.observers.tell(name, observed(event, attempt=1, recovered=False))
        if not error:
            self._told.events += 1
            return after  # with the next event, or at the end of the page, it is noted
        self._failed(_row(name, event), error, after)
        return after

    def _died(self, row: PutBy, after: ObserverPlace) -> None:
        """The process that told the event has ended since, which is a try: an event that ends every process would else
        be told for ever, and hold up all that came behind it."""
        due_ms = None if self.max_attempts <= 1 else self.store.now_ms()
        begun = row.model_copy(update={"attempts": 1, "due_ms": due_ms, "error": ENDED})
        self._put_by(begun, after)
        if due_ms is not None:
            self._try(begun)

    # --- events that were failed on ---

    def _retry(self, until_s: float) -> None:
        now_ms = self.store.now_ms()
        for row in self.store.put_by():
            if row.due_ms is None or row.due_ms > now_ms or row.observer not in self.observers.observers:
                continue
            if self.clock.boottime_s() >= until_s:
                return
            self._try(row)

    def _try(self, row: PutBy) -> None:
        # counted before it is tried: a try that ends its process is one
        begun = row.model_copy(update={"attempts": row.attempts + 1, "due_ms": self._due_ms(row.attempts + 1)})
        self._put_by(begun, None)
        event = Event(
            kind=row.kind, data=row.data, event_id=row.event_id, at_ms=row.at_ms, task_id=row.task_id, turn=row.turn
        )
        error = self.observers.tell(row.observer, observed(event, attempt=begun.attempts, recovered=True))
        if error:
            self._failed(row, error, None)
        else:
            self._told.events += 1
            if not self.store.settle(self._token, row, self._hold_ms):
                raise _Followed

    def _failed(self, row: PutBy, error: str, place: ObserverPlace | None) -> None:
        self._told.failed += 1
        attempts = row.attempts + 1
        tried = {"attempts": attempts, "due_ms": self._due_ms(attempts), "error": error[:MAX_ERROR_CHARS]}
        log.warning("observer %s failed on event %s (try %d): %s", row.observer, row.event_id, attempts, error)
        self._put_by(row.model_copy(update=tried), place)

    def _due_ms(self, attempts: int) -> int | None:
        if attempts >= self.max_attempts:
            return None
        return self.store.now_ms() + self.retry_ms * int(2 ** (attempts - 1))

    def _put_by(self, row: PutBy, place: ObserverPlace | None) -> None:
        rows = self.store.put_by()
        if len(rows) >= MOST_PUT_BY and all(one.name != row.name for one in rows):
            oldest = min(rows, key=lambda one: one.at_ms or 0)
            log.error("more than %d events that observers failed on; %s is let go", MOST_PUT_BY, oldest.name)
            self.store.settle(self._token, oldest, self._hold_ms)
        if not self.store.note(self._token, row.observer, place, row, self._hold_ms):
            raise _Followed

    def _note(self, name: str, place: ObserverPlace) -> None:
        if not self.store.note(self._token, name, place, None, self._hold_ms):
            raise _Followed


def observed(event: Event, *, attempt: int, recovered: bool) -> Observed:
    """What an observer is given of an event."""
    return Observed(
        task_id=event.task_id or "",
        turn=event.turn or 0,
        recovered=recovered,
        event=event.kind,
        event_id=event.event_id or "",
        at_ms=event.at_ms,
        data=event.data,
        attempt=attempt,
    )


def _row(name: str, event: Event) -> PutBy:
    return PutBy(
        observer=name,
        event_id=event.event_id or "",
        kind=event.kind,
        task_id=event.task_id or "",
        turn=event.turn or 0,
        at_ms=event.at_ms,
        data=event.data,
    )
