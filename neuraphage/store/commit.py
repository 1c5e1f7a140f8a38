"""commit, suspend and finish: the fenced writes of a turn (changes.lua and one file each)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuraphage.model.limits import TurnsUsedUp
from neuraphage.model.money import Shortage
from neuraphage.model.task import Status
from neuraphage.ports import Changes, Clock, Committed, CommitVerdict, FinishTo, Lease, Settled, SuspendTo
from neuraphage.store.context import StoreContext
from neuraphage.store.edges import woken_of
from neuraphage.store.encode import change_groups, dumps, entry_json, loads, marker_bytes
from neuraphage.store.lock_text import asked_bytes
from neuraphage.store.scripts import script


def given_with(context: StoreContext, lease: Lease, changes: Changes, **further: object) -> dict[str, object]:
    """What a script that writes changes is given, beside the changes themselves."""
    return {
        "fence": lease.fence,
        "claim": lease.claim_id,
        "token": lease.token + 1,
        "outcome": 1 if changes.outcome else 0,
        "marker": marker_bytes(changes.marker),
        "reserve": "" if changes.reserve_microusd is None else changes.reserve_microusd,
        **context.pools,
        **further,
    }


def _write(
    name: str, context: StoreContext, lease: Lease, changes: Changes, entries: Sequence[bytes], **further: object
) -> Any:
    """Run one of the scripts that write changes; `entries` as JSON."""
    given = given_with(context, lease, changes, **further)
    rest = change_groups(changes, entries) + asked_bytes(changes, context.settings)
    return script(name).run(context, given, task_id=lease.task_id, rest=rest)


def commit(context: StoreContext, clock: Clock, lease: Lease, changes: Changes) -> Committed:
    """Write changes in mid-turn and renew the lease. Repeating it gets the same answer.

    Args:
        context: the store.
        clock: for the local send time.
        lease: with the token of the last write of this claim.
        changes: what to write, all or nothing.

    Returns:
        The verdict and flags; the send time only where the lease was renewed, which a replay does not do, nor a
        commit soon after the last renewal.

    Raises:
        StoreUnavailable, StoreError: the server did not do it.
    """
    sent_at = clock.boottime_s()
    further = {
        "events_max": context.settings.events_max,
        "republish_ms": int(context.settings.first_republish_s * 1000),
        "lease_ms": context.lease_ms,
        "slack_ms": context.renew_slack_ms,
    }
    entries = entries_json(changes)
    reply = _write("commit", context, lease, changes, entries, **further)
    verdict = CommitVerdict(reply[0].decode())
    _remember(context, lease, entries, known=verdict in (CommitVerdict.COMMITTED, CommitVerdict.BLOCKED))
    if verdict is CommitVerdict.BLOCKED:
        return Committed(verdict, settled=settled_of(reply))
    if verdict is CommitVerdict.NO_MONEY:
        return Committed(verdict, shortage=shortage_of(reply[1:]))
    if verdict is CommitVerdict.NO_TURNS:
        return Committed(
            verdict, used_up=TurnsUsedUp(task_id=reply[1].decode(), limit=int(reply[2]), used=int(reply[3]))
        )
    if verdict is not CommitVerdict.COMMITTED:
        return Committed(verdict)
    renewed_at = sent_at if reply[3:] == [b"1"] else 0.0
    return Committed(verdict, pause=reply[1] == b"1", cancel=reply[2] == b"1", sent_at_boottime_s=renewed_at)


def shortage_of(reply: Sequence[bytes]) -> Shortage:
    """The pool that has no room for a call, as the scripts tell it."""
    name, *amounts = (part.decode() for part in reply)
    limit, used, reserved = map(int, amounts)
    return Shortage(pool=name, limit_microusd=limit, used_microusd=used, reserved_microusd=reserved)


def entries_json(changes: Changes) -> list[bytes]:
    """The entries that a write adds to the conversation, as JSON."""
    return [entry_json(entry) for entry in changes.entries]


def as_read_back(entries: Sequence[bytes]) -> tuple[list[dict[str, Any]], int]:
    """Entries of `entries_json` as they read back, and their size."""
    return [loads(raw, "conversation entry") for raw in entries], sum(map(len, entries))


def _remember(context: StoreContext, lease: Lease, entries: Sequence[bytes], *, known: bool) -> None:
    """Keep the conversation as this write left it, or forget it."""
    if not known:
        context.conversations.take(lease.task_id)
        return
    context.conversations.advance(lease.task_id, lease.claim_id, lease.token, *as_read_back(entries))


def _settle(context: StoreContext, lease: Lease, entries: Sequence[bytes], reply: Sequence[bytes]) -> Settled:
    settled = settled_of(reply)
    _remember(context, lease, entries, known=is_to_go_on(settled))
    return settled


def is_to_go_on(settled: Settled) -> bool:
    """Whether the write was made and the task is not over."""
    return settled.verdict is CommitVerdict.COMMITTED and settled.place != ""


def settled_of(reply: Sequence[bytes]) -> Settled:
    """The answer of suspend and finish as a value."""
    texts = [part.decode() for part in reply[:5]]
    if len(texts) == 1:
        return Settled(CommitVerdict(texts[0]))
    if texts[0] == CommitVerdict.NO_ROOM:
        return Settled(CommitVerdict.NO_ROOM, children=int(texts[1]))
    seq, iteration = int(float(texts[3])), int(float(texts[4]))
    return Settled(CommitVerdict(texts[0]), Status(texts[1]), texts[2], seq, iteration, woken_of(reply[5:]))


def suspend(
    context: StoreContext,
    lease: Lease,
    changes: Changes,
    to: SuspendTo,
    *,
    due_ms: int = 0,
    reason: str = "",
    detail: dict[str, Any] | None = None,
    unsent: bool = False,
) -> Settled:
    """Write changes and drop the lease in mid-turn; the script resolves cancel, pause and inbox.

    Args:
        context: the store.
        lease: with the last token.
        changes: what to write.
        to: why.
        due_ms: TIMER: server time.
        reason: SHUTDOWN: why the next stretch of work begins; empty counts as the same stretch.
        detail: status detail (BLOCKED: resource, holder_task; POISONED: error, recoverable; MONEY, TIMER: a shortage).
        unsent: whether a call of the model that the claim announced was not sent; it is taken back.
    """
    further = {
        "unsent": "1" if unsent else "",
        **context.limits,
        "to": to.value,
        "due_ms": due_ms,
        "reason": reason,
        "detail": dumps(detail or {}),
        "max_children": context.settings.max_children,
    }
    entries = entries_json(changes)
    return _settle(context, lease, entries, _write("suspend", context, lease, changes, entries, **further))


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
    further = {**context.limits, "to": to.value, "detail": dumps(detail), "iteration": iteration}
    entries = entries_json(changes)
    return _settle(context, lease, entries, _write("finish", context, lease, changes, entries, **further))
