"""commit, suspend and finish: the fenced writes of a turn (changes.lua and one file each)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuraphage.model.task import Status
from neuraphage.ports import Changes, Clock, Committed, CommitVerdict, FinishTo, Lease, Settled, SuspendTo
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import change_args, dumps
from neuraphage.store.scripts import script


def _args(context: StoreContext, lease: Lease, changes: Changes) -> list[Any]:
    head = [lease.fence, lease.claim_id, lease.token + 1, context.lease_ms, *context.limit_args()]
    return head + change_args(changes)


def commit(context: StoreContext, clock: Clock, lease: Lease, changes: Changes) -> Committed:
    """Write changes in mid-turn and renew the lease. Repeating it gets the same answer.

    Args:
        context: the store.
        clock: for the local send time.
        lease: with the token of the last write of this claim.
        changes: what to write, all or nothing.

    Raises:
        StoreUnavailable, StoreError: the server did not do it.
    """
    sent_at = clock.boottime_s()
    reply = script("commit").run(context, context.keys.script_keys(lease.task_id), _args(context, lease, changes))
    verdict = CommitVerdict(reply[0].decode())
    if verdict is not CommitVerdict.COMMITTED:
        return Committed(verdict)
    return Committed(verdict, pause=reply[1] == b"1", cancel=reply[2] == b"1", sent_at_boottime_s=sent_at)


def _settled(reply: Sequence[bytes]) -> Settled:
    texts = [part.decode() for part in reply]
    if len(texts) == 1:
        return Settled(CommitVerdict(texts[0]))
    return Settled(CommitVerdict(texts[0]), Status(texts[1]), texts[2], int(float(texts[3])), int(float(texts[4])))


def suspend(
    context: StoreContext,
    lease: Lease,
    changes: Changes,
    to: SuspendTo,
    *,
    due_ms: int = 0,
    reason: str = "",
    detail: dict[str, Any] | None = None,
) -> Settled:
    """Write changes and drop the lease in mid-turn; the script resolves cancel, pause and inbox.

    Args:
        context: the store.
        lease: with the last token.
        changes: what to write.
        to: why.
        due_ms: TIMER: server time.
        reason: SHUTDOWN: why the next stretch of work begins; empty counts as the same stretch.
        detail: status detail (BLOCKED: resource, holder_task; POISONED: error, recoverable).
    """
    args = [*_args(context, lease, changes), to.value, due_ms, reason, dumps(detail or {})]
    return _settled(script("suspend").run(context, context.keys.script_keys(lease.task_id), args))


def finish(
    context: StoreContext,
    lease: Lease,
    changes: Changes,
    to: FinishTo,
    iteration: int,
    detail: dict[str, Any],
) -> Settled:
    """Write changes and end the turn.

    Args:
        context: the store.
        lease: with the last token.
        changes: what to write.
        to: how it ends.
        iteration: the turn's number; another one stored means that a write was lost.
        detail: COMPLETED: summary; FAILED: error, recoverable.
    """
    args = [*_args(context, lease, changes), to.value, dumps(detail), iteration]
    return _settled(script("finish").run(context, context.keys.script_keys(lease.task_id), args))
