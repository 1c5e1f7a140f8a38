"""Notes of the sweep: when it last ran, and the newest report worth reading."""

from __future__ import annotations

from pydantic import ValidationError

from neuraphage.model.recovery import RecoveryReport
from neuraphage.store.client import corrupt, translated
from neuraphage.store.context import StoreContext
from neuraphage.store.places import now_ms


def save_report(context: StoreContext, report: RecoveryReport) -> None:
    """Note that a sweep ended now; keep its report if it is not empty."""
    with translated("save report"), context.client.pipeline(transaction=True) as pipe:
        pipe.hset(context.keys.sweep, mapping={"at": now_ms(context), "duration_ms": report.duration_ms})
        if not report.is_empty:
            pipe.set(context.keys.report, report.model_dump_json())
        pipe.execute()


def last_report(context: StoreContext) -> RecoveryReport | None:
    """The newest report that is not empty.

    Raises:
        CorruptRecord: it cannot be read; the next report takes its place.
    """
    with translated("read report"):
        raw = context.client.get(context.keys.report)
    try:
        return None if raw is None else RecoveryReport.model_validate_json(raw)
    except ValidationError as error:
        raise corrupt("recovery report", error.errors(include_url=False, include_input=False)[0]["msg"]) from None


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
