"""Whether the money is there for a call of the model: prices, pools and the cost of recovery. Pure."""

from __future__ import annotations

from neuraphage.decide.end_actions import Fail
from neuraphage.decide.limits import dollars
from neuraphage.decide.money_actions import WaitForMoney
from neuraphage.decide.own_prices import PRICE_FORM
from neuraphage.decide.pool_text import pool_text, raising_pool
from neuraphage.decide.snapshot import Snapshot
from neuraphage.model.effect import EffectState, JournalEntry, ModelEffect
from neuraphage.model.limits import MOST_TREE_TURNS, TurnsUsedUp
from neuraphage.model.money import Shortage
from neuraphage.model.task import TaskRecord


def money_first(snapshot: Snapshot, entry: JournalEntry | None, may_be_billed: bool) -> Fail | WaitForMoney | None:
    """What keeps a paid call of the model from being made; None when it may begin. Its task has room for it.

    Args:
        snapshot: the facts.
        entry: of an earlier call of the same request.
        may_be_billed: whether that one may be billed.
    """
    record = snapshot.record
    if not snapshot.is_priced:
        return Fail(no_price(record.choice.model, record.short_id), recoverable=True)
    if may_be_billed and isinstance(entry, ModelEffect) and entry.state is EffectState.STARTED:
        most = snapshot.bounds.max_recovery_cost_microusd
        if record.counters.recovery_cost_microusd >= most:
            return Fail(_recovered_too_dearly(record, most), recoverable=True)
    if snapshot.used_up is not None:
        return Fail(turns_used_up(snapshot.used_up, record.short_id), recoverable=True)
    return None if snapshot.shortage is None else _short(snapshot, snapshot.shortage)


def turns_used_up(used_up: TurnsUsedUp, short_id: str) -> str:
    """Why a turn of a tree does not begin.

    Args:
        used_up: whose limit it is.
        short_id: of the task that was to take it.
    """
    whose, doubled = used_up.task_id, min(MOST_TREE_TURNS, 2 * max(used_up.used, 1))
    return (
        f"{whose} with its subtasks has taken {used_up.used} turns, its limit for all of them is {used_up.limit}."
        f" `neuraphage limit {whose} --max-tree-turns {doubled}` raises it, then `neuraphage retry {short_id}` goes on."
    )


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


def _short(snapshot: Snapshot, shortage: Shortage) -> Fail | WaitForMoney:
    """A pool has no room for the call."""
    if shortage.is_exhausted and (snapshot.bounds.fails_at_pool or shortage.of_task is not None):
        going_on = f"{raising_pool(shortage)} raises it, then `neuraphage retry {snapshot.record.short_id}` goes on."
        return Fail(f"{pool_text(shortage)} {going_on}", recoverable=True)
    return WaitForMoney(shortage, snapshot.now_ms + snapshot.bounds.pool_wait_ms)
