"""What is stored of observers: their places in the events, and the events that they failed on (observe.lua)."""

from __future__ import annotations

from pydantic import ValidationError

from neuraphage.model.event_stream import EventPage
from neuraphage.model.observed import ObserverPlace, PutBy
from neuraphage.store.client import corrupt, translated
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import compact
from neuraphage.store.event_stream import all_events
from neuraphage.store.scripts import script


class RedisObservers:
    """Implements ports.ObserverStore.

    Args:
        context: of the store.
    """

    def __init__(self, context: StoreContext) -> None:
        self._context = context

    def begin(self, token: str, hold_ms: int) -> bool:
        """See ports.ObserverStore."""
        with translated("begin to tell observers"):
            return bool(self._context.client.set(self._context.keys.observing, token, nx=True, px=hold_ms))

    def end(self, token: str) -> None:
        """See ports.ObserverStore."""
        # a hold of nothing: the script checks whose it is, and the key is gone at once
        self._observe(token, "", None, "", None, hold_ms=0)

    def now_ms(self) -> int:
        """See ports.ObserverStore."""
        with translated("read the time"):
            seconds, micros = self._context.client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def places(self) -> dict[str, ObserverPlace]:
        """See ports.ObserverStore."""
        with translated("read observers"):
            rows = self._context.client.hgetall(self._context.keys.observers)
        try:
            return {name.decode(): ObserverPlace.model_validate_json(raw) for name, raw in rows.items()}
        except ValidationError as error:
            raise corrupt("place of an observer", error) from None

    def put_by(self) -> list[PutBy]:
        """See ports.ObserverStore."""
        with translated("read events that observers failed on"):
            rows = self._context.client.hgetall(self._context.keys.put_by)
        try:
            found = [PutBy.model_validate_json(raw) for raw in rows.values()]
        except ValidationError as error:
            raise corrupt("event that an observer failed on", error) from None
        return sorted(found, key=lambda one: (one.observer, one.at_ms or 0, one.event_id))

    def events(self, after: str | None, kinds: frozenset[str]) -> EventPage:
        """See ports.ObserverStore."""
        return all_events(self._context, after, kinds, frozenset())

    def note(self, token: str, observer: str, place: ObserverPlace | None, row: PutBy | None, hold_ms: int) -> bool:
        """See ports.ObserverStore."""
        return self._observe(token, observer, place, "" if row is None else row.name, row, hold_ms)

    def settle(self, token: str, row: PutBy, hold_ms: int) -> bool:
        """See ports.ObserverStore."""
        return self._observe(token, row.observer, None, row.name, None, hold_ms)

    def again(self, row: PutBy) -> bool:
        """See ports.ObserverStore."""
        client, key = self._context.client, self._context.keys.put_by
        fresh = row.model_copy(update={"attempts": 0, "due_ms": 0})
        with translated("have an observer told again"):
            # one that a runner settles at the same time is told once more: it was asked for
            return bool(client.hexists(key, row.name)) and client.hset(key, row.name, compact(fresh)) is not None

    def _observe(
        self, token: str, observer: str, place: ObserverPlace | None, event: str, row: PutBy | None, hold_ms: int
    ) -> bool:
        given = {
            "token": token,
            "observer": observer,
            "place": b"" if place is None else compact(place),
            "event": event,
            "row": b"" if row is None else compact(row),
            "hold_ms": hold_ms,
        }
        keys = self._context.keys
        (verdict,) = script("observe").run(self._context, given, keys=(keys.observing, keys.observers, keys.put_by))
        return bool(verdict == b"OBSERVED")
