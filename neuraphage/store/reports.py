"""Notes of recoveries: when a sweep last ran and what it found, and what was recovered by whom."""

from __future__ import annotations

import logging

from pydantic import ValidationError

from neuraphage.errors import StoreError
from neuraphage.model.effect import MarkerName
from neuraphage.model.recovery import RecoveryDecision, RecoveryReport
from neuraphage.store.client import corrupt, translated
from neuraphage.store.context import StoreContext
from neuraphage.store.places import now_ms

MAX_RECOVERIES = 200
"""So many are kept for the report; each task's own decisions are kept with it."""
log = logging.getLogger(__name__)


def save_report(context: StoreContext, report: RecoveryReport) -> None:
    """Note that a sweep ended now; keep its report if it is not empty."""
    with translated("save report"), context.client.pipeline(transaction=True) as pipe:
        pipe.hset(context.keys.sweep, mapping={"at": now_ms(context), "duration_ms": report.duration_ms})
        if not report.is_empty:
            pipe.set(context.keys.report, report.model_dump_json())
        pipe.execute()


def note_recovery(context: StoreContext, decision: RecoveryDecision) -> None:
    """Keep what was decided about one orphan, or what a person ordered, for the report.

    The decision itself stands, and its task tells of it: so a server that refuses this note is only worth a line.
    """
    try:
        noted = decision.model_copy(update={"at_ms": now_ms(context)}).model_dump_json(exclude_defaults=True)
        with translated("note a recovery"), context.client.pipeline(transaction=True) as pipe:
            pipe.lpush(context.keys.recoveries, noted)
            pipe.ltrim(context.keys.recoveries, 0, MAX_RECOVERIES - 1)
            pipe.execute()
    except StoreError as error:
        log.warning("the report of recoveries misses one: %s", error, extra={"task": decision.task_id})


def last_report(context: StoreContext) -> RecoveryReport | None:
    """What was recovered of late, and what the last sweep found that found something.

    Raises:
        CorruptRecord: it cannot be read; the next report takes its place.
    """
    with translated("read report"), context.client.pipeline(transaction=False) as pipe:
        pipe.get(context.keys.report)
        pipe.lrange(context.keys.recoveries, 0, -1)
        raw, noted = pipe.execute()
    try:
        swept = None if raw is None else RecoveryReport.model_validate_json(raw)
        decisions = [RecoveryDecision.model_validate_json(row) for row in noted]
    except ValidationError as error:
        raise corrupt("recovery report", error.errors(include_url=False, include_input=False)[0]["msg"]) from None
    return _joined(swept, decisions) if decisions else swept


def _joined(swept: RecoveryReport | None, decisions: list[RecoveryDecision]) -> RecoveryReport:
    """What was noted of each recovery takes the place of what the sweep's own report has of them."""
    names = ("resumable", "requeued", "failed", "paused", "other")
    groups: dict[str, list[RecoveryDecision]] = {name: [] for name in names}
    for decision in decisions:
        groups[_group(decision)].append(decision)
    found = swept or RecoveryReport(swept_at_ms=0)
    newest_ms = max(found.swept_at_ms, *(decision.at_ms or 0 for decision in decisions))
    return found.model_copy(update={"swept_at_ms": newest_ms, **{name: tuple(rows) for name, rows in groups.items()}})


def _group(decision: RecoveryDecision) -> str:
    if decision.verdict in ("failed", "paused"):
        return decision.verdict
    if decision.verdict != "recovered":
        return "other"
    return "resumable" if decision.marker != MarkerName.TASK_CREATED or decision.iteration > 0 else "requeued"


def last_sweep_ms(context: StoreContext) -> int:
    """When a sweep last ended, server time; 0 for never."""
    with translated("read last sweep"):
        return int(context.client.hget(context.keys.sweep, "at") or 0)


def begin_sweep(context: StoreContext, guard_ms: int) -> bool:
    """Whether no other sweep began within `guard_ms`; for economy only."""
    guard = context.keys.sweep_guard
    with translated("begin sweep"):
        if context.client.set(guard, 1, nx=True, px=guard_ms):
            return True
        if context.client.pttl(guard) <= guard_ms:
            return False
        context.client.set(guard, 1, px=guard_ms)  # the server's clock has gone back since it was set
        return True
