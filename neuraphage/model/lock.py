"""A lock on a resource, as stored. It lives exactly as long as its holder's lease."""

from __future__ import annotations

from neuraphage.model.base import SCHEMA_VERSION, Frozen


class Lock(Frozen):
    """One held lock.

    Args:
        resource: what is locked, e.g. `file:/path` or `repo:/path`.
        holder_task: the task that holds it; re-entrant for a newer fence of the same task.
        holder_process: process id of the task's lease holder.
        fence: of that lease.
        acquired_at_ms: server time.
        lease_expires_ms: server time.
        schema_version: version of this shape.
    """

    resource: str
    holder_task: str
    holder_process: str
    fence: int
    acquired_at_ms: int
    lease_expires_ms: int
    schema_version: int = SCHEMA_VERSION
