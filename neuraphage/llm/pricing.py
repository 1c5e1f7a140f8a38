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
        self._dearest = Price(
            **{field: max(getattr(price, field) or 0 for price in prices.values()) for field in Price.model_fields}
        )

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
        name = str(split_model(model))  # `anthropic:NAME` is NAME
        row = max((row for row in self._prices if name.startswith(row) or model.startswith(row)), key=len, default=None)
        if row is None:
            return PriceQuote(price=self._dearest, known=False)
        return PriceQuote(price=self._prices[row], known=True, row=row)


def _price(model: str, row: Any) -> Price:
    try:
        tokens_in, tokens_out = Decimal(row["input_usd"]), Decimal(row["output_usd"])
    except (KeyError, TypeError, InvalidOperation) as error:
        raise SettingsError(f"price of {model!r}: input_usd and output_usd must be decimal texts: {error!r}") from error
    if not (tokens_in.is_finite() and tokens_out.is_finite()) or min(tokens_in, tokens_out) < 0:
        raise SettingsError(f"price of {model!r} is negative or infinite: {row!r}")
    return price_of(tokens_in, tokens_out)
