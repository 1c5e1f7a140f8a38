"""Schedules (schedule.lua), and the tasks of their times (occur.lua)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from neuraphage.decide.occurrences import next_of, occurrence
from neuraphage.errors import CorruptRecord
from neuraphage.model.money import label_texts
from neuraphage.model.schedule import (
    MOST_SCHEDULES,
    Schedule,
    ScheduleChange,
    ScheduleDefinition,
    ScheduleState,
    ScheduleVerdict,
)
from neuraphage.model.task import StartedReason
from neuraphage.ports import DueSchedule, NextTurn
from neuraphage.store.client import corrupt, translated
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import entry_bytes, first_entry, spec_bytes
from neuraphage.store.places import now_ms
from neuraphage.store.scripts import script
from neuraphage.store.signals import as_given

MADE = b"MADE"


class RedisSchedules:
    """Implements ports.ScheduleStore.

    Args:
        context: of the store.
    """

    def __init__(self, context: StoreContext) -> None:
        self._context = context

    def now_ms(self) -> int:
        """See places.now_ms."""
        return now_ms(self._context)

    def schedules(self) -> Sequence[Schedule]:
        """See ports.ScheduleStore."""
        keys = self._context.keys
        with translated("read schedules"), self._context.client.pipeline(transaction=True) as pipe:
            pipe.hgetall(keys.schedules)
            pipe.hgetall(keys.schedule_states)
            definitions, states = pipe.execute()
        return [
            Schedule(definition=_definition(raw, name), state=_state(states.get(name, b""), name))
            for name, raw in sorted(definitions.items())
        ]

    def add(self, definition: ScheduleDefinition, next_ms: int) -> ScheduleVerdict:
        """See ports.ScheduleStore."""
        return self._run(definition.name, ScheduleChange.ADD, next_ms, definition.model_dump_json().encode())

    def change(self, name: str, change: ScheduleChange, next_ms: int = 0) -> ScheduleVerdict:
        """See ports.ScheduleStore."""
        return self._run(name, change, next_ms)

    def _run(self, name: str, change: ScheduleChange, next_ms: int, definition: bytes = b"") -> ScheduleVerdict:
        keys = self._context.keys
        given = {
            "kind": change.value, "name": name, "definition": definition, "next_ms": next_ms, "most": MOST_SCHEDULES,
        }  # fmt: skip
        reply = script("schedule").run(self._context, given, keys=(keys.schedules, keys.schedule_states))
        return ScheduleVerdict(reply[0].decode())


def due_schedules(context: StoreContext, until_ms: int) -> list[DueSchedule]:
    """Schedules whose time has come. Where there are none, this is one read; what cannot be read is left out."""
    keys = context.keys
    with translated("read schedules"):
        states = context.client.hgetall(keys.schedule_states)
        due = {name: at_ms for name, raw in states.items() if (at_ms := _due_ms(raw)) is not None and at_ms <= until_ms}
        raws = context.client.hmget(keys.schedules, list(due)) if due else []
    rows = zip(due.items(), raws, strict=True)
    return [DueSchedule(name.decode(), at_ms, raw) for (name, at_ms), raw in rows if raw is not None]


def occur(context: StoreContext, due: DueSchedule) -> NextTurn | None:
    """Make the task of one time of a schedule, and set its next time: the first that is still to come.

    Returns:
        The message of the task; None where none was made, or it waits.

    Raises:
        BadInput: this machine knows no such zone.
        CorruptRecord: the schedule cannot be read.
        StoreUnavailable, StoreError: repeating it is safe.
    """
    definition = _definition(due.stored, due.name.encode())
    spec = occurrence(context.settings.namespace, definition, due.due_ms)
    given = {
        "schedule": due.name,
        "definition": due.stored,
        "due_ms": due.due_ms,
        "next_ms": next_of(definition, now_ms(context)),
        "overlap": definition.overlap.value,
        "spec": spec_bytes(spec),
        "entry": entry_bytes(first_entry(spec.prompt)),
        "name": spec.name,
        "labels": "\n".join(label_texts(spec.labels)),
        "priority": spec.priority,
        **as_given(spec.limits),
        "reason": StartedReason.USER_REQUEST.value,
        **context.limits,
        **context.all_events_max,
    }
    keys = (context.keys.schedules, context.keys.schedule_states, context.keys.tombstones)
    reply = script("occur").run(context, given, task_id=spec.task_id, keys=keys)
    return NextTurn(spec.task_id, 1, 0) if reply[0] == MADE and int(reply[1]) else None


def schedule_violations(definitions: Mapping[bytes, bytes], states: Mapping[bytes, bytes]) -> list[str]:
    """Every breach found, one sentence each: each schedule has a definition and a state, and both can be read."""
    found = []
    for name in sorted(definitions.keys() | states.keys()):
        try:
            _definition(definitions.get(name, b""), name)
            _state(states.get(name, b""), name)
        except CorruptRecord as error:
            found.append(str(error))
    return found


def _definition(raw: bytes, name: bytes) -> ScheduleDefinition:
    try:
        return ScheduleDefinition.model_validate_json(raw)
    except ValidationError as error:
        raise corrupt(f"schedule {name.decode(errors='replace')!r}", error) from None


def _state(raw: bytes, name: bytes) -> ScheduleState:
    try:
        return ScheduleState.model_validate_json(raw)
    except ValidationError as error:
        raise corrupt(f"state of the schedule {name.decode(errors='replace')!r}", error) from None


def _due_ms(raw: bytes) -> int | None:
    """When it is due; None of one that is paused, or cannot be read: `schedules` tells of that."""
    try:
        state = ScheduleState.model_validate_json(raw)
    except ValidationError:
        return None
    return None if state.paused else state.next_ms
