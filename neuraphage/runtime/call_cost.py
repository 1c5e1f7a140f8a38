"""What calls of the model cost, and what they may cost."""

from __future__ import annotations

from neuraphage.decide.cost import cost_microusd
from neuraphage.decide.worst_case import worst_case_microusd
from neuraphage.model.effect import EffectState, ModelEffect
from neuraphage.model.message import ModelRequest
from neuraphage.model.usage import Price, Usage
from neuraphage.runtime.services import Services


class CallCost:
    """Prices the calls of one task.

    Args:
        services: the ports.
        model: of the task.
    """

    def __init__(self, services: Services, model: str) -> None:
        self._services = services
        self._model = model

    def spent(self, model: str, usage: Usage) -> dict[str, int]:
        """What a reply adds to the counters, whether it is kept or not.

        Args:
            model: that has answered; one without a price costs what the task's does.
            usage: tokens.
        """
        return {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
            "cache_read_tokens": usage.cache_read_input_tokens,
            "cost_microusd": cost_microusd(usage, self._price(model)),
        }

    def worst_case_microusd(self, request: ModelRequest) -> int:
        """What a request may cost at most."""
        return worst_case_microusd(request, self._price(request.model))

    def lost_microusd(self, before: ModelEffect | None, cost: int) -> int:
        """What the call that was lost with its worker may have cost.

        Args:
            before: of the call before; one whose worker lived has told its cost.
            cost: worst case of the call that is made now, which is the same request.
        """
        if before is None or before.state is not EffectState.STARTED:
            return 0
        return before.reserved_microusd or cost

    def _price(self, model: str) -> Price:
        quote = self._services.quote(model or self._model)
        return (quote if quote.known else self._services.quote(self._model)).price
