"""Whether the model may be asked now: limits, prices and pools of money. Pure."""

from __future__ import annotations

from neuraphage.decide.actions import Action, CallModel, Fail, StopAtLimit, WaitForMoney
from neuraphage.decide.limits import dollars, limit_failure
from neuraphage.decide.own_prices import PRICE_FORM
from neuraphage.decide.pool_text import pool_text, raising_pool
from neuraphage.decide.snapshot import Snapshot
from neuraphage.model.effect import EffectState, ModelEffect
from neuraphage.model.money import Shortage
from neuraphage.model.task import TaskRecord


def call_of_model(snapshot: Snapshot, entry: ModelEffect | None, *, may_be_billed: bool) -> Action:
    """The action that asks the model, or what keeps it from being asked.

    Args:
        snapshot: the facts.
        entry: of an earlier call of the same request.
        may_be_billed: whether that one may be billed.
    """
    reached = limit_failure(snapshot.record)
    if reached is not None:
        return StopAtLimit(reached)
    if not snapshot.is_priced:
        return Fail(no_price(snapshot.record.spec.model, snapshot.record.short_id), recoverable=True)
    if may_be_billed and entry is not None and entry.state is EffectState.STARTED:
        lost, most = snapshot.record.counters.recovery_cost_microusd, snapshot.bounds.max_recovery_cost_microusd
        if lost >= most:
            return Fail(_recovered_too_dearly(snapshot.record, most), recoverable=True)
    if snapshot.shortage is not None:
        return _short(snapshot, snapshot.shortage)
    return CallModel(may_be_billed=may_be_billed)


def no_price(model: str, short_id: str) -> str:
    """Why a call of a model without a known price is not made.

    Args:
        model: its id.
        short_id: of the task.
    """
    return (
        f"No price is known for the model {model}, so its limit of money could not be kept, and nothing was sent. Set"
        f' one where workers run: prices = ["{model} 0.5 1.5"] ({PRICE_FORM}; 0 0 for a model that costs nothing),'
        f" start the workers anew, then `neuraphage retry {short_id}`."
    )


def _recovered_too_dearly(record: TaskRecord, most: int) -> str:
    lost = record.counters.recovery_cost_microusd
    return (
        f"Calls that were lost with their workers may have cost ${dollars(lost)}, and max_recovery_cost_microusd allows"
        f" ${dollars(most)}: the next one is not made again. Find out why workers die in it (`neuraphage why"
        f" {record.short_id}`); to go on, raise that setting of the workers, then `neuraphage retry {record.short_id}`."
    )


def _short(snapshot: Snapshot, shortage: Shortage) -> Action:
    """A pool has no room for the call."""
    if shortage.is_exhausted and snapshot.bounds.fails_at_pool:
        going_on = f"{raising_pool(shortage)} raises it, then `neuraphage retry {snapshot.record.short_id}` goes on."
        return Fail(f"{pool_text(shortage)} {going_on}", recoverable=True)
    return WaitForMoney(shortage, snapshot.now_ms + snapshot.bounds.pool_wait_ms)
