"""What a reply cost, in whole micro-dollars."""

from __future__ import annotations

from neuraphage.model.usage import Price, Usage

_TOKENS_A_PRICE = 1_000_000


def cost_microusd(usage: Usage, price: Price) -> int:
    """The cost of one reply, exact and rounded up to a whole micro-dollar.

    Args:
        usage: tokens of the reply.
        price: micro-dollars a million tokens; that of a long request, where the model has one, by `usage`.
    """
    price = price.of(usage.request_tokens)
    for_an_hour = min(usage.cache_creation_1h_tokens, usage.cache_creation_input_tokens)
    exact = (
        usage.input_tokens * price.input_microusd
        + usage.output_tokens * price.output_microusd
        + (usage.cache_creation_input_tokens - for_an_hour) * price.cache_write_microusd
        + for_an_hour * price.hour_write_microusd
        + usage.cache_read_input_tokens * price.cache_read_microusd
    )
    return -(-exact // _TOKENS_A_PRICE)
