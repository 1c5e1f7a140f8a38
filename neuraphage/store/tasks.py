"""The store as its users see it: one object with all writes and reads of one namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuraphage.model.attachment import Attachment
from neuraphage.model.recovery import Evidence, RecoveryReport
from neuraphage.model.task import TaskRecord, TaskSpec
from neuraphage.ports import (
    Changes,
    Claimed,
    Clock,
    Committed,
    Created,
    Delta,
    DueSchedule,
    FinishTo,
    GoneOn,
    HeldTask,
    Lease,
    NextTurn,
    NoticeMark,
    ProcessRow,
    Recovered,
    RecoverVerdict,
    Renewal,
    Settled,
    Signal,
    Signalled,
    SuspendTo,
)
from neuraphage.settings import Settings
from neuraphage.store import (
    access,
    admission,
    audit,
    claim,
    commit,
    go_on,
    leases,
    ledger,
    live,
    memory,
    notices,
    places,
    processes,
    queries,
    reports,
    schedules,
    signals,
)
from neuraphage.store.capacity_calls import CapacityCalls
from neuraphage.store.client import RedisClient
from neuraphage.store.context import open_context


class RedisStore(CapacityCalls):
    """All state of one namespace. Every method is one script or one read, safe to repeat.

    Args:
        settings: limits and times.
        clock: local time.
        client: the state server; made from `settings.state_url` when not given.
    """

    def __init__(self, settings: Settings, clock: Clock, client: RedisClient | None = None) -> None:
        self.clock = clock
        self.context = open_context(settings, client)

    def check_access(self) -> bool:
        """See access.check_access."""
        return access.check_access(self.context)

    # --- people ---

    def create(self, spec: TaskSpec, key: str, attachments: Sequence[Attachment] = ()) -> Created:
        """See signals.create."""
        return signals.create(self.context, spec, key, attachments)

    def signal(self, task_id: str, sent: Signal) -> Signalled:
        """See signals.signal."""
        return signals.signal(self.context, task_id, sent, self.clock.wall_ms())

    def get(self, task_id: str) -> TaskRecord:
        """See queries.get."""
        return queries.get(self.context, task_id)

    def set_pool(self, name: str, limit_microusd: int | None) -> None:
        """See ledger.set_pool."""
        ledger.set_pool(self.context, name, limit_microusd)

    # --- notices ---

    def waiting_tasks(self, limit: int) -> list[tuple[str, int]]:
        """See notices.waiting_tasks."""
        return notices.waiting_tasks(self.context, limit)

    def notice_marks(self, task_id: str, wanted: Sequence[tuple[str, str]]) -> list[NoticeMark]:
        """See notices.notice_marks."""
        return notices.notice_marks(self.context, task_id, wanted)

    def begin_notice(self, task_id: str, prompt_id: str, event: str, hold_ms: int) -> NoticeMark:
        """See notices.begin_notice."""
        return notices.begin_notice(self.context, task_id, prompt_id, event, hold_ms)

    def end_notice(self, task_id: str, prompt_id: str, event: str, keep_ms: int) -> None:
        """See notices.end_notice."""
        notices.end_notice(self.context, task_id, prompt_id, event, keep_ms)

    # --- turns ---

    def claim(self, task_id: str, seq: int, process_id: str, claim_id: str, request_id: str = "") -> Claimed:
        """See claim.claim."""
        return claim.claim(self.context, self.clock, task_id, seq, process_id, claim_id, request_id)

    def commit(self, lease: Lease, changes: Changes) -> Committed:
        """See commit.commit."""
        return commit.commit(self.context, self.clock, lease, changes)

    def suspend(
        self,
        lease: Lease,
        changes: Changes,
        to: SuspendTo,
        *,
        due_ms: int = 0,
        reason: str = "",
        detail: Mapping[str, Any] | None = None,
        unsent: bool = False,
    ) -> Settled:
        """See commit.suspend."""
        further: dict[str, Any] = {"due_ms": due_ms, "reason": reason, "detail": dict(detail or {}), "unsent": unsent}
        return commit.suspend(self.context, lease, changes, to, **further)

    def finish(
        self, lease: Lease, changes: Changes, to: FinishTo, iteration: int, detail: Mapping[str, Any]
    ) -> Settled:
        """See commit.finish."""
        return commit.finish(self.context, lease, changes, to, iteration, dict(detail))

    def go_on(
        self,
        lease: Lease,
        changes: Changes,
        to: FinishTo,
        iteration: int,
        detail: Mapping[str, Any],
        *,
        process_id: str,
        claim_id: str,
        request_id: str = "",
    ) -> GoneOn:
        """See go_on.go_on."""
        ending = (lease, changes, to, iteration, dict(detail))
        return go_on.go_on(self.context, self.clock, *ending, go_on.NextClaim(process_id, claim_id, request_id))

    def renew(self, leases_held: Sequence[Lease]) -> tuple[float, list[Renewal]]:
        """See leases.renew."""
        return leases.renew(self.context, self.clock, leases_held)

    def publish_live(self, task_id: str, deltas: Iterable[Delta]) -> bool:
        """See live.publish."""
        return live.publish(self.context, task_id, deltas)

    def live_shown(self, task_id: str, call: str) -> int | None:
        """See live.shown."""
        return live.shown(self.context, task_id, call)

    # --- sweep and watcher ---

    def now_ms(self) -> int:
        """See places.now_ms."""
        return places.now_ms(self.context)

    def held_tasks(self, *, until_ms: int | None, limit: int) -> list[HeldTask]:
        """See leases.held_tasks."""
        return leases.held_tasks(self.context, until_ms=until_ms, limit=limit)

    def recover(self, held: HeldTask, evidence: Evidence) -> Recovered:
        """See leases.recover; what was decided is noted for the report."""
        answer = leases.recover(self.context, held, evidence)
        if answer.decision is not None and answer.verdict not in (RecoverVerdict.SUSPECT, RecoverVerdict.STALE):
            reports.note_recovery(self.context, answer.decision)
        return answer

    def due_outbox(self, until_ms: int, limit: int) -> list[str]:
        """See places.due_outbox."""
        return places.due_outbox(self.context, until_ms, limit)

    def republish(self, task_id: str, ahead_ms: int = 0) -> NextTurn | None:
        """See places.republish."""
        return places.republish(self.context, task_id, ahead_ms)

    def due_timers(self, until_ms: int, limit: int) -> list[str]:
        """See places.due_timers."""
        return places.due_timers(self.context, until_ms, limit)

    def blocked_since(self, until_ms: int, limit: int) -> list[str]:
        """See places.blocked_since."""
        return places.blocked_since(self.context, until_ms, limit)

    def fire(self, task_id: str, source: str) -> NextTurn | None:
        """See places.fire."""
        return places.fire(self.context, task_id, source)

    def due_deadlines(self, until_ms: int, limit: int) -> list[tuple[str, str, str]]:
        """See places.due_deadlines."""
        return places.due_deadlines(self.context, until_ms, limit)

    def due_retention(self, until_ms: int, limit: int) -> list[str]:
        """See places.due_retention."""
        return places.due_retention(self.context, until_ms, limit)

    def delete(self, task_id: str, *, force: bool = False) -> bool:
        """See places.delete."""
        return places.delete(self.context, task_id, force=force)

    def expire_tombstones(self, until_ms: int) -> int:
        """See places.expire_tombstones."""
        return places.expire_tombstones(self.context, until_ms)

    def save_report(self, report: RecoveryReport) -> None:
        """See reports.save_report."""
        reports.save_report(self.context, report)

    def last_sweep_ms(self) -> int:
        """See reports.last_sweep_ms."""
        return reports.last_sweep_ms(self.context)

    def begin_sweep(self, guard_ms: int) -> bool:
        """See reports.begin_sweep."""
        return reports.begin_sweep(self.context, guard_ms)

    def adjust(self) -> tuple[NextTurn, ...]:
        """See admission.adjust."""
        return admission.adjust(self.context)

    def due_schedules(self, until_ms: int) -> list[DueSchedule]:
        """See schedules.due_schedules."""
        return schedules.due_schedules(self.context, until_ms)

    def occur(self, due: DueSchedule) -> NextTurn | None:
        """See schedules.occur."""
        return schedules.occur(self.context, due)

    def audit(self) -> list[tuple[str, str]]:
        """See audit.audit."""
        return audit.audit(self.context)

    def memory_percent(self) -> float | None:
        """See memory.used_percent."""
        return memory.used_percent(self.context)

    def register(self, row: ProcessRow) -> None:
        """See processes.register."""
        processes.register(self.context, row)

    def unregister(self, process_ids: Sequence[str]) -> None:
        """See processes.unregister."""
        processes.unregister(self.context, process_ids)

    def registered(self) -> list[ProcessRow]:
        """See processes.registered."""
        return processes.registered(self.context)

    def whereabouts(self, task_ids: Sequence[str]) -> dict[str, str]:
        """See processes.whereabouts."""
        return processes.whereabouts(self.context, task_ids)

    def touch_health(self, name: str, ttl_ms: int) -> None:
        """See processes.touch_health."""
        processes.touch_health(self.context, name, ttl_ms)

    def connected(self) -> frozenset[str]:
        """See processes.connected."""
        return processes.connected(self.context)
