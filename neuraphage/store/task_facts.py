"""Everything that decisions about one task are made from, for people who ask why. It only reads."""

from __future__ import annotations

import contextlib

from pydantic import ValidationError

from neuraphage.decide.capacity import awaited, awaited_model
from neuraphage.errors import AccessRefused
from neuraphage.model.effect import EffectState, Journal, ToolEffect
from neuraphage.model.explanation import Holder, TaskFacts
from neuraphage.model.place import Place
from neuraphage.model.recovery import LoggedDecision, RecoveryDecision
from neuraphage.model.subtask import ChildWait, holds_parent
from neuraphage.model.task import TaskRecord
from neuraphage.store import processes
from neuraphage.store.admission_view import line_place
from neuraphage.store.client import corrupt, translated
from neuraphage.store.context import StoreContext
from neuraphage.store.places import now_ms
from neuraphage.store.queries import decisions, get, journal
from neuraphage.store.reports import last_sweep_ms


def task_facts(context: StoreContext, task_id: str) -> TaskFacts:
    """Read one task and its surroundings.

    Raises:
        TaskNotFound, CorruptRecord, StoreUnavailable, StoreError: see the message.
    """
    record = get(context, task_id)
    with translated("read clocks"), context.client.pipeline(transaction=True) as pipe:
        pipe.hget(context.keys.task(task_id), "published")
        pipe.hget(context.keys.suspects, task_id)
        pipe.llen(context.keys.inbox(task_id))
        pipe.exists(context.keys.messages(task_id))
        if record.place is not None:
            pipe.zscore(getattr(context.keys, record.place), task_id)
        published, suspect, unread, has_conversation, *scores = pipe.execute()
    waiting: Journal = journal(context, task_id) if record.place == Place.TIMERS else {}
    due_ms = None if not scores or scores[0] is None else int(scores[0])
    return TaskFacts(
        record=record,
        now_ms=now_ms(context),
        due_ms=due_ms,
        publications=_counted(published, record.seq),
        suspect_since_ms=_counted(suspect, due_ms) or None,
        unread=unread,
        has_conversation=bool(has_conversation),
        holder=_holder(context, record),
        workers=_workers(context) if record.place == Place.OUTBOX else None,
        held=_held(waiting),
        awaits=awaited(waiting),
        awaits_model=awaited_model(waiting, record.choice.model),
        line=line_place(context, task_id) if record.place == Place.WAITS else None,
        last_sweep_ms=last_sweep_ms(context),
        decisions=task_decisions(context, task_id),
        children=_children(context, record),
    )


def _children(context: StoreContext, record: TaskRecord) -> dict[str, str]:
    """Where the children stand that a task waits for."""
    if not holds_parent(record.children):
        return {}
    waited = [one.task_id for one in record.children if one.wait is not ChildWait.LATER and one.is_open]
    with translated("read how subtasks stand"), context.client.pipeline(transaction=False) as pipe:
        for task_id in waited:
            pipe.hget(context.keys.task(task_id), "status")
        found = pipe.execute()
    return {task_id: raw.decode() for task_id, raw in zip(waited, found, strict=True) if raw}


def task_decisions(context: StoreContext, task_id: str) -> tuple[LoggedDecision, ...]:
    """Decisions of the sweep and the watchers about the task, oldest first.

    Raises:
        CorruptRecord: one of them cannot be read.
    """
    rows = decisions(context, task_id)
    try:
        return tuple(
            LoggedDecision(at_ms=row["at_ms"], reading=RecoveryDecision.model_validate(row["reading"])) for row in rows
        )
    except ValidationError as error:
        raise corrupt("decision", error.errors(include_url=False, include_input=False)[0]["msg"]) from None


def _counted(raw: bytes | None, wanted: int | None) -> int:
    """The second number of a stored `<first>:<second>`; 0 when the first is another than wanted."""
    first, _, second = (raw or b"").decode().partition(":")
    return int(second) if wanted is not None and first == str(wanted) and second.isdecimal() else 0


def _workers(context: StoreContext) -> int | None:
    """How many have their connection: one that was killed stays registered until a watcher of its host comes."""
    try:
        return len(processes.connected(context))
    except AccessRefused:  # as below
        return None


def _held(waiting: Journal) -> ToolEffect | None:
    """The call that keeps a task in timers; none where it waits for something else there."""
    held = (entry for entry in waiting.values() if isinstance(entry, ToolEffect) and entry.state is EffectState.PLANNED)
    return next((entry for entry in held if entry.held is not None), None)


def _holder(context: StoreContext, record: TaskRecord) -> Holder | None:
    if record.place != Place.LEASES or record.owner is None:
        return None
    row = next((row for row in processes.registered(context) if row.process_id == record.owner), None)
    connected: bool | None = None
    with contextlib.suppress(AccessRefused):  # a client's user may be forbidden to list connections
        connected = record.owner in processes.connected(context)
    if row is None:
        return Holder(process_id=record.owner, connected=connected)
    return Holder(process_id=record.owner, pid=row.pid, host=row.host, connected=connected)
