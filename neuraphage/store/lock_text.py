"""Between locks as values and what is stored of them (locks.lua)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from neuraphage.model.lock import HeldResource, LockLine, TaskLocks
from neuraphage.store.client import corrupt, translated
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import dumps, journal_bytes, loads, marker_bytes

if TYPE_CHECKING:
    from neuraphage.ports import Changes
    from neuraphage.settings import Settings

_LINE = re.compile(r"(\w+) (\w+) (\S+) (\d+)")


def asked_bytes(changes: Changes, settings: Settings) -> list[bytes]:
    """What a commit is given behind its changes where the call that they announce needs locks; nothing else."""
    asked = changes.locks
    if asked is None:
        return []
    before = {} if asked.before is None else {"before": journal_bytes(asked.before).decode()}
    return [
        dumps(
            {
                "call": asked.call,
                "needs": [need.model_dump() for need in asked.needs],
                **before,
                "marker": marker_bytes(asked.marker).decode(),
                "wait_ms": int(settings.lock_wait_s * 1000),
                "poll_ms": int(settings.wait_poll_s * 1000),
            }
        )
    ]


def locks_of(values: Mapping[bytes, bytes] | Mapping[str, bytes], name: Any = "locks") -> TaskLocks | None:
    """What a record says of its locks; None of a task that has nothing to do with any.

    Raises:
        CorruptRecord: it cannot be read.
    """
    raw = values.get(name)
    if raw is None:
        return None
    try:
        return TaskLocks.model_validate(loads(raw, "locks of a task"))
    except ValidationError as error:
        raise corrupt("locks of a task", error) from None


def held_resource(resource: str, raw: bytes) -> HeldResource:
    """One field of the hash of locks; a line that cannot be read is left out."""
    lines = []
    for state, mode, task_id, since in _LINE.findall(raw.decode(errors="replace")):
        try:
            lines.append(LockLine.model_validate({"state": state, "mode": mode, "task_id": task_id, "since_ms": since}))
        except ValidationError:
            continue
    return HeldResource(resource=resource, lines=tuple(lines))


def all_locks(context: StoreContext) -> list[HeldResource]:
    """Every resource that is held or waited for, by name."""
    with translated("read the locks"):
        fields = context.client.hgetall(context.keys.locks)
    found = (held_resource(name.decode(errors="replace"), raw) for name, raw in fields.items())
    return sorted(found, key=lambda one: one.resource)
