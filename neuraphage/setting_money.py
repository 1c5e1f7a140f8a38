"""The settings about money: prices, pools, the cost of recovery, and the ledger. A part of `settings.Settings`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from neuraphage.decide.own_prices import read_label_limit
from neuraphage.model.money import Pool
from neuraphage.setting_values import MAX_AMOUNT, CostOrNone, LabelLimits, Prices, Seconds


class MoneySettings(BaseModel):
    """Limits of money beyond those of one task. A project's file may set none of them: it is the person who pays."""

    prices: Prices = ()
    """Prices of one's own models, as `my-model 0.5 1.5`: dollars a million tokens; see docs/money.md."""
    day_max_cost_microusd: CostOrNone = "none"
    """Most that all tasks of the namespace spend on one day (UTC), in millionths of a dollar; "none" for no limit."""
    label_max_cost_microusd: LabelLimits = ()
    """Most that all tasks of a label spend, each as `team=web 5000000`."""
    on_exhausted_pool: Literal["pause", "fail"] = "pause"
    """What happens to a task when the pool of the day or of a label is used up."""
    pool_wait_s: Seconds = 2.0
    """How long a call waits before it looks again whether a pool has room beside the calls that are under way."""
    max_recovery_cost_microusd: int = Field(default=5_000_000, ge=0, le=MAX_AMOUNT)
    """Most that calls of a task may have cost that were lost with their workers; then it fails."""
    ledger_days: int = Field(default=400, ge=1, le=36_500)
    """Days that the ledger of costs keeps; older ones become one row."""
    ledger_max: int = Field(default=100_000, ge=100, le=MAX_AMOUNT)
    """Most rows of the ledger; further models and labels are counted as one."""

    @property
    def pool_limits(self) -> dict[str, int]:
        """Limits of pools by their names, in micro-dollars."""
        limits = dict(map(read_label_limit, self.label_max_cost_microusd))
        if self.day_max_cost_microusd != "none":
            limits[Pool.DAY.value] = self.day_max_cost_microusd
        return limits
