"""renew and recover: keeping leases, and taking them from processes that are gone."""

from __future__ import annotations

from collections.abc import Sequence

from neuraphage.model.recovery import Evidence, RecoveryDecision
from neuraphage.ports import Clock, HeldTask, Lease, Recovered, RecoverVerdict, Renewal
from neuraphage.store.client import translated
from neuraphage.store.context import WHY_MAX, StoreContext
from neuraphage.store.edges import woken_of
from neuraphage.store.encode import loads
from neuraphage.store.scripts import script

ONE, ZERO = ord("1"), ord("0")


def renew(context: StoreContext, clock: Clock, leases: Sequence[Lease]) -> tuple[float, list[Renewal]]:
    """Renew all leases of a process in one round trip.

    Returns:
        The local send time, and one answer a lease, in order.

    Raises:
        StoreUnavailable, StoreError: no lease was renewed as far as this process knows.
    """
    keys = [context.keys.leases, *(context.keys.task(lease.task_id) for lease in leases)]
    held = [value for lease in leases for value in (lease.task_id, lease.fence, lease.claim_id)]
    sent_at = clock.boottime_s()
    replies = script("renew").run(context, {"lease_ms": context.lease_ms}, keys=keys, rest=held)
    return sent_at, [Renewal(held=r[0] == ONE, cancel=r[1] == ONE, pause=r[2] == ONE) for r in replies]


def held_tasks(context: StoreContext, *, until_ms: int | None, limit: int) -> list[HeldTask]:
    """Leases that expired by `until_ms` (or all), oldest first.

    Args:
        context: the store.
        until_ms: server time; None for all leases. Those that end a lease later than that come too, as the last:
            they were made before the server's clock went back.
        limit: at most so many.
    """
    with translated("read leases"):
        leases = context.keys.leases
        with context.client.pipeline(transaction=False) as pipe:
            pipe.zrangebyscore(leases, "-inf", "+inf" if until_ms is None else until_ms, 0, limit, withscores=True)
            if until_ms is not None:
                pipe.zrangebyscore(leases, f"({until_ms + context.lease_ms}", "+inf", 0, limit, withscores=True)
            rows = [row for part in pipe.execute() for row in part][:limit]
        with context.client.pipeline(transaction=False) as pipe:
            for member, _ in rows:
                pipe.hmget(context.keys.task(member.decode()), "fence", "claim", "owner")
            heads = pipe.execute() if rows else []
    return [
        HeldTask(member.decode(), _as_stored(head[0]), _as_stored(head[1]), _as_stored(head[2]), int(score))
        for (member, score), head in zip(rows, heads, strict=True)
    ]


def _as_stored(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")


def recover(context: StoreContext, held: HeldTask, evidence: Evidence) -> Recovered:
    """Take one lease away; the script decides from the stored state what becomes of the task.

    Args:
        context: the store.
        held: the lease as seen; if it moved since, the answer is STALE.
        evidence: `expired` (two visits), `stalled` (the same, of a process that was seen to live), `gone` (the
            process was seen to be gone), or `absent` (not seen for long; its old deadline still counts).
    """
    settings = context.settings
    given = {
        "fence": held.fence,
        "claim": held.claim_id,
        "evidence": str(evidence),
        "process": held.owner,
        "policy": settings.recovery_policy.value,
        "max_recoveries": settings.max_recoveries,
        "max_stalls": settings.max_stalls,
        "max_age_ms": int(settings.saved_max_age_s * 1000),
        "second_visit_ms": int(settings.heartbeat_s * 2000),
        "lease_ms": context.lease_ms,
        "why_max": WHY_MAX,
        **context.limits,
    }
    reply = script("recover").run(context, given, task_id=held.task_id)
    verdict = RecoverVerdict(reply[0].decode())
    if len(reply) == 1:
        return Recovered(verdict)
    decision = RecoveryDecision.model_validate(loads(reply[1], "recovery decision"))
    if verdict is not RecoverVerdict.RECOVERED:
        return Recovered(verdict, decision, woken=woken_of(reply[4:]))
    return Recovered(verdict, decision, int(reply[2]), int(reply[3]))
