"""go_on: the end of a turn and the claim of the next one, in one round trip (go_on.lua)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuraphage.ports import Changes, ClaimUnreadableError, Clock, FinishTo, GoneOn, Lease
from neuraphage.store.claim import claimed_of, reads
from neuraphage.store.commit import as_read_back, entries_json, given_with, is_to_go_on, settled_of
from neuraphage.store.context import StoreContext
from neuraphage.store.conversations import KnownConversation
from neuraphage.store.encode import change_groups, dumps
from neuraphage.store.scripts import script


@dataclass(frozen=True, slots=True)
class NextClaim:
    """The claim of the next turn.

    Args:
        process_id: the claimer.
        claim_id: random.
        request_id: as of claim.
    """

    process_id: str
    claim_id: str
    request_id: str = ""


def go_on(
    context: StoreContext,
    clock: Clock,
    lease: Lease,
    changes: Changes,
    to: FinishTo,
    iteration: int,
    detail: dict[str, Any],
    then: NextClaim,
) -> GoneOn:
    """Write changes, end the turn, and take the lease of the next one where it waits in the outbox.

    Args:
        context: the store.
        clock: for the local send time.
        lease, changes, to, iteration, detail: as of finish.
        then: the claim of the next turn; repeating the call with the same ids gets the same answer.

    Raises:
        StoreUnavailable, StoreError: the server did not do it, or not all was read; repeating it is safe.
    """
    given = given_with(
        context, lease, changes, **context.limits, to=to.value, detail=dumps(detail), iteration=iteration,
        next_claim=then.claim_id, process=then.process_id, request=then.request_id, lease_ms=context.lease_ms,
        **context.all_events_max,
    )  # fmt: skip
    entries = entries_json(changes)
    task_id, known = lease.task_id, _known_after(context, lease, entries)
    first = len(known.entries) if known is not None else 0
    sent_at = clock.boottime_s()
    reply, *read = script("go_on").run_and_read(
        context, given, *reads(context, task_id, first), task_id=task_id, rest=change_groups(changes, entries)
    )
    settled = settled_of(reply[0])
    if len(reply) == 1:
        if known is not None and is_to_go_on(settled):
            context.conversations.put(task_id, known)
        return GoneOn(settled)
    try:
        return GoneOn(settled, claimed_of(context, task_id, then.claim_id, reply[1], known, read, sent_at))
    except ClaimUnreadableError as error:
        return GoneOn(settled, error)


def _known_after(context: StoreContext, lease: Lease, added: Sequence[bytes]) -> KnownConversation | None:
    """What this process will know of the conversation if the write is confirmed; nothing is known until then."""
    known = context.conversations.take(lease.task_id)
    if known is None or (known.claim_id, known.token) != (lease.claim_id, lease.token):
        return None
    entries, size_bytes = as_read_back(added)
    grown, size_bytes = [*known.entries, *entries], known.size_bytes + size_bytes
    return KnownConversation(lease.claim_id, lease.token + 1, grown, size_bytes, known.memo, known.resets)
