"""Has calls of the model announced: the one place where one begins, and where what it may cost is reserved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuraphage.model.effect import SUMMARY_ENTRY, Marker, MarkerName, ModelEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.message import ModelRequest
from neuraphage.runtime.call_cost import CallCost
from neuraphage.runtime.capacity_step import CapacityStep
from neuraphage.runtime.no_money import NoMoney, NoTurns
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


class Announcer:
    """Announces the calls of one turn.

    Args:
        services: the ports.
        work: the working copy.
    """

    def __init__(self, services: Services, work: UnitOfWork) -> None:
        self._work = work
        self.cost = CallCost(services)
        """Prices calls."""

    def announce(
        self,
        entry: ModelEffect,
        request: ModelRequest,
        capacity: CapacityStep,
        take_back: Callable[[], None],
        *,
        resend: bool,
    ) -> ModelEffect:
        """Commit that a call of the model begins, for a reply or for a summary, and reserve what it may cost.

        Args:
            entry: the call.
            request: what is sent.
            capacity: of its model; is told of a call that is not made for want of money.
            take_back: undoes what was noted for it.
            resend: an earlier call of this request may be billed.

        Returns:
            The call as it is stored.

        Raises:
            LeaseLost, CancelRequested, StoreUnavailable: nothing may be sent.
            NoMoney, NoTurns: there is no room for it; nothing is noted.
        """
        before, cost = self._work.journal.get(entry.key), self.cost.worst_case_microusd(request)
        lost = self.cost.lost_microusd(before if isinstance(before, ModelEffect) else None, cost)
        entry = entry.model_copy(update={"reserved_microusd": cost})
        data: dict[str, Any] = {"request_id": entry.request_id, "attempt": entry.attempt, "fence": entry.fence}
        name = MarkerName.REQUEST_SENT
        if entry.key == SUMMARY_ENTRY:
            name = MarkerName.SUMMARY_SENT
            data |= {"purpose": "summary", "model": request.model, "why_own": entry.why_own}
        self._work.note(
            journal=[entry],
            marker=Marker(name=name, request_id=entry.request_id),
            add={"model_resends": 1, "recovery_cost_microusd": lost} if resend else None,
            on=request.model,
            reserve_microusd=cost,
            events=[Event(kind=EventKind.REQUEST_SENT, data=data)],
        )
        try:
            self._work.begin_effect()
        except (NoMoney, NoTurns):
            take_back()
            capacity.not_sent()
            raise
        return entry


def settled(entry: ModelEffect) -> int | None:
    """What is reserved of pools once the outcome of a call is stored."""
    return 0 if entry.reserved_microusd else None
