"""claim: the right of one process to advance one task (claim.lua)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuraphage.model.effect import JournalEntry
from neuraphage.model.place import Place
from neuraphage.ports import Claimed, ClaimUnreadableError, ClaimVerdict, Clock, Lease
from neuraphage.store.client import corrupt, translated
from neuraphage.store.context import StoreContext
from neuraphage.store.conversations import KnownConversation
from neuraphage.store.edges import woken_of
from neuraphage.store.encode import inbox_item, journal_entry, stored_entry, text_map
from neuraphage.store.kept_limits import kept_limits
from neuraphage.store.record import check_schema, task_record
from neuraphage.store.round_trip import Command
from neuraphage.store.scripts import script


def claim(
    context: StoreContext, clock: Clock, task_id: str, seq: int, process_id: str, claim_id: str, request_id: str = ""
) -> Claimed:
    """Take the lease and read everything the turn needs, in one round trip.

    Args:
        context: the store.
        clock: for the local send time.
        task_id: the task.
        seq: of the broker's message.
        process_id: the claimer.
        claim_id: random; repeating the call with the same id gets the same answer.
        request_id: of the call of the model that is announced with the claim where the turn goes straight on; empty for
            none.

    Returns:
        GRANTED with record, journal, inbox and conversation; or why not. An announced call stands in the journal.

    Raises:
        StoreUnavailable, StoreError: the server did not do it.
        ClaimUnreadableError: granted, but the record cannot be read.
    """
    given = {"seq": seq, "process": process_id, "claim": claim_id, "request": request_id}
    given |= {"lease_ms": context.lease_ms, **context.pools, **context.limits, **context.all_events_max}
    known = context.conversations.take(task_id)
    first = len(known.entries) if known is not None else 0
    sent_at = clock.boottime_s()
    reply, *read = script("claim").run_and_read(context, given, *reads(context, task_id, first), task_id=task_id)
    return claimed_of(context, task_id, claim_id, reply, known, read, sent_at)


def reads(context: StoreContext, task_id: str, first: int) -> tuple[Command, Command, Command]:
    """What is read with a claim, in the same round trip: the conversation from an entry on, what models cool, and of
    what models limits are kept that were learned."""
    keys = context.keys
    return ("LRANGE", keys.messages(task_id), first, -1), ("HKEYS", keys.cooling), ("HGETALL", keys.kept)


def claimed_of(
    context: StoreContext,
    task_id: str,
    claim_id: str,
    reply: Sequence[Any],
    known: KnownConversation | None,
    read: Sequence[Sequence[bytes]],
    sent_at: float,
) -> Claimed:
    """The answer of claim as a value; the conversation is remembered.

    Args:
        context: the store.
        task_id: the task.
        claim_id: of the claim.
        reply: of the script.
        known: what this process knew of the conversation; not in the context while it is looked at.
        read: what `reads` asked for: the stored entries behind the known ones, gates of models that take no calls, and
            limits that are kept.
        sent_at: local send time.

    Raises:
        StoreUnavailable, StoreError: the whole conversation had to be read, and the server does not answer.
        ClaimUnreadableError: granted, but the record cannot be read.
    """
    verdict, (raw_entries, cooling, kept) = ClaimVerdict(reply[0].decode()), read
    if verdict is not ClaimVerdict.GRANTED:
        return Claimed(verdict, woken=woken_of(reply[1:]))
    values = text_map(reply[2])
    lease = Lease(task_id, int(values["fence"]), claim_id, int(values["token"]))
    lease_ms = context.lease_ms
    if known is not None and not _is_prefix(known, reply[5:], values.get("resets", b"0")):
        known, raw_entries = None, _whole_conversation(context, task_id)
    try:
        check_schema(values, "task record")  # first: what else a newer release wrote would look broken
        entries = _entries(known, raw_entries)
        size_bytes = (known.size_bytes if known else 0) + sum(map(len, raw_entries))
        memo: dict[str, Any] = known.memo if known else {}
        resets = int(values.get("resets", b"0"))
        context.conversations.put(task_id, KnownConversation(claim_id, lease.token, entries, size_bytes, memo, resets))
        now_ms = int(reply[1])
        journal: dict[str, JournalEntry] = {k: journal_entry(k, raw) for k, raw in text_map(reply[3]).items()}
        return Claimed(
            verdict,
            lease=lease,
            record=task_record(values, place=Place.LEASES, lease_until_ms=now_ms + lease_ms, between_turns=not journal),
            journal=journal,
            inbox=tuple((raw, inbox_item(raw)) for raw in reply[4]),
            entries=tuple(entries),
            sent_at_boottime_s=sent_at,
            now_ms=now_ms,
            memo=memo,
            cooling=frozenset(gate.decode() for gate in cooling),
            kept=kept_limits(kept, now_ms) if kept else {},
        )
    except Exception as error:
        raise ClaimUnreadableError(lease, error) from error


def _entries(known: KnownConversation | None, raw_entries: Sequence[bytes]) -> list[dict[str, Any]]:
    entries = [*(known.entries if known else ()), *map(stored_entry, raw_entries)]
    if not entries:  # a task has its prompt from the start; a request without any message would be refused
        raise corrupt("conversation", "it is gone")
    return entries


def _is_prefix(known: KnownConversation, before: Sequence[Any], resets: bytes) -> bool:
    """Whether the known conversation is how the stored one begins.

    Args:
        known: what this process last saw confirmed.
        before: the latest claims with the numbers of their last writes, and the conversation's length, as they stood
            before this claim; empty when the claim was a repeat, which overwrote them.
        resets: how often the conversation was begun anew.
    """
    if len(before) != 2 or resets != b"%d" % known.resets:
        return False
    trail, length = before
    return any(_holds(claim, known) for claim in trail.split()) and int(length) >= len(known.entries)


def _holds(claim: bytes, known: KnownConversation) -> bool:
    """Whether a claim of the task's history holds the write that the known conversation is bound to."""
    claim_id, _, token = claim.partition(b":")
    return claim_id == known.claim_id.encode() and token.isdigit() and known.token <= int(token)


def _whole_conversation(context: StoreContext, task_id: str) -> list[bytes]:
    with translated("claim"):
        found: list[bytes] = context.client.lrange(context.keys.messages(task_id), 0, -1)
        return found
