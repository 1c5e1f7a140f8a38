"""What calls of the model cost, and what they may cost."""

from __future__ import annotations

from neuraphage.decide.cost import cost_microusd
from neuraphage.decide.model_ids import split_model
from neuraphage.decide.worst_case import worst_case_microusd
from neuraphage.model.effect import EffectState, ModelEffect
from neuraphage.model.message import ModelRequest
from neuraphage.model.usage import Price, Usage
from neuraphage.runtime.services import Services


class CallCost:
    """Prices calls of models.

    Args:
        services: the ports.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    def is_known(self, model: str) -> bool:
        """Whether a price of a model is known; without one it is not called."""
        return self._services.quote(model).known

    def spent(self, asked: str, answered: str, usage: Usage) -> dict[str, int]:
        """What a reply adds to the counters, whether it is kept or not.

        Args:
            asked: the model of the request.
            answered: the model that has answered, empty where it is not said.
            usage: tokens.
        """
        return {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
            "cache_read_tokens": usage.cache_read_input_tokens,
            "cost_microusd": cost_microusd(usage, self._price(asked, answered)),
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

    def _price(self, asked: str, answered: str = "") -> Price:
        """The price of the model that has answered, where it is known and a model of the same provider."""
        is_told = answered and split_model(answered).provider is split_model(asked).provider
        quote = self._services.quote(answered if is_told else asked)
        return (quote if quote.known else self._services.quote(asked)).price
