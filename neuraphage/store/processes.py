"""The registry of worker processes, and who of them is connected now.

Each worker process holds one connection with its process id as name; the kernel closes it when the process
dies, so CLIENT LIST shows deaths within milliseconds. The registry says who should be there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields

from neuraphage.errors import CorruptRecord
from neuraphage.model.task import TERMINAL
from neuraphage.ports import ProcessRow
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import dumps, loads
from neuraphage.store.failover import GREETING, refuse_replica

NAME_PREFIX = "np-process:"
_ROW_FIELDS = frozenset(field.name for field in fields(ProcessRow))


def connection_name(namespace: str, process_id: str) -> str:
    """Name of the process's connection in CLIENT LIST."""
    return f"{NAME_PREFIX}{namespace}:{process_id}"


def register(context: StoreContext, row: ProcessRow) -> None:
    """Enter the process, before it claims anything."""
    with translated("register process"):
        context.client.hset(context.keys.processes, row.process_id, dumps(asdict(row)))


def unregister(context: StoreContext, process_ids: Sequence[str]) -> None:
    """Remove processes that left, or whose leases were all recovered."""
    if process_ids:
        with translated("unregister process"):
            context.client.hdel(context.keys.processes, *process_ids)


def registered(context: StoreContext) -> list[ProcessRow]:
    """All registered processes whose entry can be read: one that cannot must hide the death of no other."""
    with translated("read processes"):
        raw = context.client.hgetall(context.keys.processes)
    return [row for value in raw.values() if (row := _row(value)) is not None]


def _row(raw: bytes) -> ProcessRow | None:
    """One entry, without what a later release has added to it."""
    try:
        values = loads(raw, "process")
        return ProcessRow(**{name: value for name, value in values.items() if name in _ROW_FIELDS})
    except (CorruptRecord, TypeError, AttributeError):
        return None


def connected(context: StoreContext) -> frozenset[str]:
    """Process ids whose connection to the master stands now."""
    prefix = connection_name(context.settings.namespace, "")
    with translated("list clients"):
        with context.client.pipeline(transaction=False) as pipe:
            pipe.client_list()
            pipe.execute_command(GREETING)
            clients, greeting = pipe.execute()
        refuse_replica(context.client, greeting)  # who has moved on to the new master would look absent here
        names = [client["name"] for client in clients]
    return frozenset(name.removeprefix(prefix) for name in names if name.startswith(prefix))


def touch_health(context: StoreContext, name: str, ttl_ms: int) -> None:
    """See ports.health.HealthStore."""
    with translated("health write"):
        context.client.set(context.keys.health(name), 1, px=ttl_ms)


def whereabouts(context: StoreContext, task_ids: Sequence[str]) -> dict[str, str]:
    """For each task: `over` when it has ended or is gone, the spool its lease holder can reach, or empty."""
    spools = {row.process_id: row.spool for row in registered(context)}
    with translated("read holders"), context.client.pipeline(transaction=False) as pipe:
        for task_id in task_ids:
            pipe.hmget(context.keys.task(task_id), "status", "owner")
            pipe.zscore(context.keys.leases, task_id)
        rows = pipe.execute() if task_ids else []
    found = {}
    for index, task_id in enumerate(task_ids):
        (status, owner), lease = rows[2 * index], rows[2 * index + 1]
        if status is None or status.decode(errors="replace") in TERMINAL:
            found[task_id] = "over"
        else:
            found[task_id] = spools.get(owner.decode(), "") if owner is not None and lease is not None else ""
    return found
