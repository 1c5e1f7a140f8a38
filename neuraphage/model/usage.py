"""Tokens and money. Money is whole micro-dollars everywhere: no float is ever added up."""

from __future__ import annotations

from neuraphage.model.base import Frozen


class Usage(Frozen):
    """Tokens of one model reply, as the provider counts them.

    Args:
        input_tokens: tokens read at full price.
        output_tokens: tokens written.
        cache_creation_input_tokens: tokens written to the prompt cache.
        cache_read_input_tokens: tokens read from the prompt cache.
        cache_creation_1h_tokens: of the written ones those that are kept for an hour, not for 5 minutes.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_1h_tokens: int = 0

    @property
    def request_tokens(self) -> int:
        """The request, whatever of it was cached."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens

    @property
    def all_tokens(self) -> int:
        """The request and the reply together: what of the context window was used."""
        return self.request_tokens + self.output_tokens


class Price(Frozen):
    """Micro-dollars a million tokens of one model (so $3 a million is 3_000_000).

    Args:
        input_microusd: full-price input.
        output_microusd: output.
        cache_write_microusd: written to the prompt cache (5 minute life).
        cache_read_microusd: read from the prompt cache.
        cache_write_1h_microusd: written to the prompt cache (1 hour life); None for twice the input.
        long_above_tokens: requests of more tokens than that, whatever of them is cached, cost `long`.
        long: of such a request, its reply too; None where length changes nothing.
    """

    input_microusd: int
    output_microusd: int
    cache_write_microusd: int
    cache_read_microusd: int
    cache_write_1h_microusd: int | None = None
    long_above_tokens: int = 0
    long: Price | None = None

    def of(self, request_tokens: int) -> Price:
        """The price of a request of so many tokens, and of its reply."""
        return self.long if self.long is not None and request_tokens > self.long_above_tokens else self

    @property
    def hour_write_microusd(self) -> int:
        """What a million tokens cost that are written to the prompt cache for an hour."""
        return 2 * self.input_microusd if self.cache_write_1h_microusd is None else self.cache_write_1h_microusd


class PriceQuote(Frozen):
    """The price of a model.

    Args:
        price: micro-dollars a million tokens.
        known: False when no row fits; the price is then the dearest one, so that estimates err on the safe side.
        row: the row that fitted, empty when none did.
    """

    price: Price
    known: bool
    row: str = ""


class Counters(Frozen):
    """A task's running totals. They only grow, inside commits.

    Args:
        iteration: finished turns.
        input_tokens, output_tokens, cache_write_tokens, cache_read_tokens: of committed replies, and of those that
            broke off or were too long to store, as far as these had told.
        cost_microusd: price of these tokens.
        model_calls: committed replies, and committed summaries of conversations.
        model_resends: calls sent again under the same request id although an earlier reply may be billed: its worker
            died, or it broke off after it had begun.
        recovery_cost_microusd: what calls that were lost with their workers, and sent again, may have cost; no part of
            `cost_microusd`.
        tool_runs: tool calls with a committed result.
        recoveries: recoveries since the last outcome commit (the poison count).
        recoveries_total: recoveries in the task's life.
        running_ms: time that workers had it, where a limit bounds that: up to the end of the last lease.
    """

    iteration: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    cost_microusd: int = 0
    model_calls: int = 0
    model_resends: int = 0
    recovery_cost_microusd: int = 0
    tool_runs: int = 0
    recoveries: int = 0
    recoveries_total: int = 0
    running_ms: int = 0

    @property
    def tokens_used(self) -> int:
        """All tokens counted, of every kind."""
        return self.input_tokens + self.output_tokens + self.cache_write_tokens + self.cache_read_tokens
