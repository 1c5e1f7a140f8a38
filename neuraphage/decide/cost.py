"""What a reply cost, in whole micro-dollars."""

from __future__ import annotations

from neuraphage.model.usage import Price, Usage

_TOKENS_A_PRICE = 1_000_000


def cost_microusd(usage: Usage, price: Price) -> int:
    """The cost of one reply, exact and rounded up to a whole micro-dollar.

    Args:
        usage: tokens of the reply.
        price: micro-dollars a million tokens.
    """
    exact = (
        usage.input_tokens * price.input_microusd
        + usage.output_tokens * price.output_microusd
        + usage.cache_creation_input_tokens * price.cache_write_microusd
        + usage.cache_read_input_tokens * price.cache_read_microusd
    )
    return -(-exact // _TOKENS_A_PRICE)
