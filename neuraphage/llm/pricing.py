"""The price table. The prices are data (`prices.json`), not code."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Self

from neuraphage.decide.model_ids import split_model
from neuraphage.decide.own_prices import price_of
from neuraphage.errors import SettingsError
from neuraphage.llm.packaged_table import packaged_text, rows_of
from neuraphage.model.usage import Price, PriceQuote

_AMOUNTS = tuple(name for name in Price.model_fields if name.endswith("_microusd"))


class PriceTable:
    """Prices by model id.

    Args:
        prices: model id -> price; at least one.

    Raises:
        SettingsError: the table is empty.
    """

    def __init__(self, prices: dict[str, Price]) -> None:
        if not prices:
            raise SettingsError("the price table holds no model: add at least one, or costs cannot be limited")
        self._prices = dict(prices)
        self._quotes: dict[str, PriceQuote] = {}
        """What was quoted before; every step of a turn asks."""
        every = [*prices.values(), *(price.long for price in prices.values() if price.long is not None)]
        self._dearest = Price(**{field: max(getattr(price, field) or 0 for price in every) for field in _AMOUNTS})

    @classmethod
    def packaged(cls) -> Self:
        """The table that comes with this release."""
        return cls.parse(packaged_text("prices.json"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a table from JSON of the shape of `prices.json`.

        Raises:
            SettingsError: the text is no such table; the message names the row.
        """
        return cls({model: _price(model, row) for model, row in rows_of(text, "the price table").items()})

    def with_own(self, prices: Mapping[str, Price]) -> Self:
        """This table with the prices of the settings, which go before its own for the same beginning of an id."""
        return type(self)({**self._prices, **prices})

    def quote(self, model: str) -> PriceQuote:
        """The price of the longest row that the id begins with (dated ids name their model first)."""
        quote = self._quotes.get(model)
        if quote is None:
            quote = self._quotes[model] = self._found(model)
        return quote

    def _found(self, model: str) -> PriceQuote:
        name = str(split_model(model))  # `anthropic:NAME` is NAME
        row = max((row for row in self._prices if name.startswith(row) or model.startswith(row)), key=len, default=None)
        if row is None:
            return PriceQuote(price=self._dearest, known=False)
        return PriceQuote(price=self._prices[row], known=True, row=row)


def _price(model: str, row: Any) -> Price:
    try:
        price = _amounts(row)
        if "long" not in row:
            return price
        above = row["long"]["above_tokens"]
        if type(above) is not int or above <= 0:
            raise SettingsError(f"price of {model!r}: above_tokens is to be a whole number above zero: {row!r}")
        return price.model_copy(update={"long": _amounts(row["long"]), "long_above_tokens": above})
    except (KeyError, TypeError, InvalidOperation) as error:
        raise SettingsError(f"price of {model!r}: input_usd and output_usd must be decimal texts: {error!r}") from error
    except ValueError as error:
        raise SettingsError(f"price of {model!r} is negative or infinite: {row!r}") from error


def _amounts(row: Any) -> Price:
    """The price by `input_usd`, `output_usd`, and `cache_read_usd` where that is not a tenth of input."""
    tokens_in, tokens_out = Decimal(row["input_usd"]), Decimal(row["output_usd"])
    cache_read = Decimal(row["cache_read_usd"]) if "cache_read_usd" in row else None
    given = [amount for amount in (tokens_in, tokens_out, cache_read) if amount is not None]
    if not all(amount.is_finite() for amount in given) or min(given) < 0:
        raise ValueError(row)
    return price_of(tokens_in, tokens_out, cache_read=cache_read)
