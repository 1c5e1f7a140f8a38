"""claim: the right of one process to advance one task (claim.lua)."""

from __future__ import annotations

from neuraphage.model.effect import JournalEntry
from neuraphage.ports import Claimed, ClaimUnreadableError, ClaimVerdict, Clock, Lease
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import inbox_item, journal_entry, stored_entry, text_map
from neuraphage.store.record import task_record
from neuraphage.store.scripts import script


def claim(context: StoreContext, clock: Clock, task_id: str, seq: int, process_id: str, claim_id: str) -> Claimed:
    """Take the lease and read everything the turn needs, in one round trip.

    Args:
        context: the store.
        clock: for the local send time.
        task_id: the task.
        seq: of the broker's message.
        process_id: the claimer.
        claim_id: random; repeating the call with the same id gets the same answer.

    Returns:
        GRANTED with record, journal, inbox and conversation; or why not.

    Raises:
        StoreUnavailable, StoreError: the server did not do it.
        ClaimUnreadableError: granted, but the record cannot be read.
    """
    keys = context.keys.script_keys(task_id)
    lease_ms, limits = context.lease_ms, context.limit_args()
    args = [seq, process_id, claim_id, lease_ms, *limits]
    conversation = ("LRANGE", context.keys.messages(task_id), 0, -1)
    sent_at = clock.boottime_s()
    reply, raw_entries = script("claim").run_and_read(context, keys, args, conversation)
    verdict = ClaimVerdict(reply[0].decode())
    if verdict is not ClaimVerdict.GRANTED:
        return Claimed(verdict)
    values = text_map(reply[2])
    lease = Lease(task_id, int(values["fence"]), claim_id, int(values["token"]))
    try:
        now_ms = int(reply[1])
        journal: dict[str, JournalEntry] = {k: journal_entry(k, raw) for k, raw in text_map(reply[3]).items()}
        return Claimed(
            verdict,
            lease=lease,
            record=task_record(values, place="leases", lease_until_ms=now_ms + lease_ms),
            journal=journal,
            inbox=tuple((raw, inbox_item(raw)) for raw in reply[4]),
            entries=tuple(stored_entry(raw) for raw in raw_entries),
            sent_at_boottime_s=sent_at,
            now_ms=now_ms,
        )
    except Exception as error:
        raise ClaimUnreadableError(lease, error) from error
