"""What a call of the model may cost at most, before it is made. Pure."""

from __future__ import annotations

from neuraphage.decide.context_size import tokens_of
from neuraphage.decide.cost import cost_microusd
from neuraphage.model.message import ModelRequest
from neuraphage.model.usage import Price, Usage


def request_tokens(request: ModelRequest) -> int:
    """An estimate of the input tokens of a request, rather too high than too low; images have their own rule."""
    return tokens_of([request.system, request.tools, request.messages])


def worst_case_microusd(request: ModelRequest, price: Price) -> int:
    """What a request may cost at most: none of it is cached, or all of it is written to the cache for as long as it is
    to be kept, if it is, what is dearer, and the reply is as long as it may be.

    Args:
        request: what is to be sent.
        price: of its model.
    """
    tokens, output = request_tokens(request), request.max_tokens
    plain = Usage(input_tokens=tokens, output_tokens=output)
    if request.cache_ttl == "none":
        return cost_microusd(plain, price)
    hour = tokens if request.cache_ttl == "1h" else 0
    cached = Usage(cache_creation_input_tokens=tokens, cache_creation_1h_tokens=hour, output_tokens=output)
    return max(cost_microusd(plain, price), cost_microusd(cached, price))
