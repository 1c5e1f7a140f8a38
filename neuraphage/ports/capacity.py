"""What the workers of a key tell each other of a model: whether it takes calls now."""

from __future__ import annotations

from typing import Protocol

from neuraphage.model.capacity import CallShare, Capacity, CapacityReason, HeardLimits, LearnedLimits, ModelLimits


class CapacityStore(Protocol):
    """Of each family of models of each key one gate, which all workers of the namespace share.

    Every method is one atomic write, safe to repeat, and raises StoreUnavailable or StoreError when the server did not
    do the work.
    """

    def admit_call(
        self,
        gate: str,
        task_id: str,
        *,
        priority: int,
        limits: ModelLimits | None = None,
        share: CallShare | None = None,
    ) -> Capacity:
        """Ask whether a call of a model may begin; who may not is queued, and woken when it may.

        Where there are limits, the call takes its share of them with that.
        """
        ...

    def settle_call(
        self,
        gate: str,
        task_id: str,
        limits: ModelLimits,
        used: CallShare,
        answered_ms: int,
        heard: HeardLimits | None = None,
    ) -> None:
        """Tell what a call that was let in has used, and how long ago the provider had begun to answer it.

        With that, what its answer says of limits that workers learn.
        """
        ...

    def cool_model(self, gate: str, why: CapacityReason, delay_s: float) -> None:
        """Tell that the provider refused a call: nobody calls until the delay is over, then one call does."""
        ...

    def open_model(self, gate: str, task_id: str, *, is_limited: bool = False) -> None:
        """Tell that the provider took the call that was to find that out: all that wait are woken.

        Where there are limits, they keep their turns in the queue.
        """
        ...

    def learn_limits(
        self,
        gate: str,
        told: LearnedLimits,
        *,
        task_id: str = "",
        limits: ModelLimits | None = None,
        heard: HeardLimits | None = None,
    ) -> None:
        """Note what the provider says that it allows, for people, and what workers are to keep of it.

        Args:
            gate: of the model.
            told: for people.
            task_id: whose call was answered.
            limits: those that calls will keep.
            heard: what workers learn; None for nothing.
        """
        ...
