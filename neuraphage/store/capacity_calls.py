"""The part of the store that workers tell each other of models by."""

from __future__ import annotations

from neuraphage.model.capacity import CallShare, Capacity, CapacityReason, HeardLimits, LearnedLimits, ModelLimits
from neuraphage.ports import Clock
from neuraphage.store import capacity, learned_limits
from neuraphage.store.context import StoreContext


class CapacityCalls:
    """`ports.CapacityStore`, as a part of `RedisStore`."""

    clock: Clock
    context: StoreContext

    def admit_call(
        self,
        gate: str,
        task_id: str,
        *,
        priority: int,
        limits: ModelLimits | None = None,
        share: CallShare | None = None,
    ) -> Capacity:
        """See capacity.admit_call."""
        return capacity.admit_call(self.context, gate, task_id, priority, limits, share)

    def settle_call(
        self,
        gate: str,
        task_id: str,
        limits: ModelLimits,
        used: CallShare,
        answered_ms: int,
        heard: HeardLimits | None = None,
    ) -> None:
        """See capacity.settle_call."""
        capacity.settle_call(self.context, gate, task_id, limits, used, answered_ms, heard)

    def cool_model(self, gate: str, why: CapacityReason, delay_s: float) -> None:
        """See capacity.cool_model."""
        capacity.cool_model(self.context, gate, why, delay_s)

    def open_model(self, gate: str, task_id: str, *, is_limited: bool = False) -> None:
        """See capacity.open_model."""
        capacity.open_model(self.context, gate, task_id, is_limited=is_limited)

    def learn_limits(
        self,
        gate: str,
        told: LearnedLimits,
        *,
        task_id: str = "",
        limits: ModelLimits | None = None,
        heard: HeardLimits | None = None,
    ) -> None:
        """See learned_limits.learn_limits."""
        learned_limits.learn_limits(self.context, gate, told, self.clock.wall_ms(), task_id, limits, heard)
