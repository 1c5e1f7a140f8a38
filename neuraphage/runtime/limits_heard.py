"""What the answers of a provider say of its limits: for people, and for workers that are to keep them."""

from __future__ import annotations

from neuraphage.decide import learned_limits
from neuraphage.decide.learned_limits import limits_in_force
from neuraphage.model.capacity import HeardLimits, ModelLimits, ToldLimits
from neuraphage.runtime.services import Services

NOTE_EVERY_S = 600.0
"""How often it is noted again for people that a provider's limits are what they were."""


class LimitsHeard:
    """Listens for the turns of one model.

    Args:
        services: the ports.
        gate: of the model.
        configured: limits that are set for it; they go before what is told.
    """

    def __init__(self, services: Services, gate: str, configured: ModelLimits | None) -> None:
        self._services = services
        self._gate = gate
        self._configured = configured
        self._learns = services.settings.learned_limits == "on"

    def in_force(self, kept: ModelLimits | None) -> ModelLimits | None:
        """The limits that calls are to keep; None for none.

        Args:
            kept: those that workers keep now as they have learned them.
        """
        return limits_in_force(self._configured, kept if self._learns else None)

    def heard(self, told: ToldLimits | None, answered_s: float, *, is_refused: bool) -> HeardLimits | None:
        """What an answer says of limits that are to be kept; None for nothing.

        Args:
            told: by its headers.
            answered_s: how long ago it had begun.
            is_refused: the call was refused for too many.
        """
        if told is None or not self._learns:
            return None
        window_s = self._services.settings.model_limit_window_s
        return learned_limits.heard(told, self._configured, window_s, answered_s, is_refused=is_refused)

    def note(self, told: ToldLimits | None, heard: HeardLimits | None, task_id: str, *, is_settled: bool) -> None:
        """Tell all others, where it is new, was told long ago, or where they are to keep a limit from now on.

        Args:
            told: by the headers of an answer.
            heard: what that says of limits that are to be kept.
            task_id: whose call was answered.
            is_settled: what was heard was told already, with what the call has used.

        Raises:
            StoreError: it was not told.
        """
        if told is None or (heard is None and self._configured is not None):
            return
        noted, now_s = self._services.learned, self._services.clock.boottime_s()
        before = noted.get(self._gate)
        is_new = before is None or before[0] != told.limits or now_s - before[1] > NOTE_EVERY_S
        is_near = heard is not None and bool(heard.near) and not is_settled
        if not is_near and not (is_new and told.limits.model_dump(exclude_none=True)):
            return
        noted[self._gate] = (told.limits, now_s)
        near = None if heard is None else ModelLimits(**{kind: heard.limits[kind] for kind in heard.near})
        self._services.store.learn_limits(
            self._gate,
            told.limits,
            task_id=task_id,
            limits=limits_in_force(self._configured, near),
            heard=None if is_settled else heard,
        )
