"""The price table. The prices are data (`prices.json`), not code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from importlib import resources
from typing import Any, Self

from neuraphage.errors import SettingsError
from neuraphage.model.usage import Price

_MICROUSD = Decimal(1_000_000)
_CACHE_WRITE_RATIO = Decimal("1.25")
_CACHE_WRITE_1H_RATIO = Decimal(2)
_CACHE_READ_RATIO = Decimal("0.1")


@dataclass(frozen=True, slots=True)
class PriceQuote:
    """The price of a model.

    Args:
        price: micro-dollars a million tokens.
        known: False when no row fits; the price is then the dearest one, so that limits err on the safe side.
        row: the row that fitted, empty when none did.
    """

    price: Price
    known: bool
    row: str = ""


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
        return cls.parse(resources.files("neuraphage.llm").joinpath("prices.json").read_text(encoding="utf-8"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a table from JSON of the shape of `prices.json`.

        Raises:
            SettingsError: the text is no such table; the message names the row.
        """
        try:
            rows = json.loads(text)["models"].items()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SettingsError(f'the price table is not JSON with an object "models": {error!r}') from error
        return cls({model: _price(model, row) for model, row in rows})

    def quote(self, model: str) -> PriceQuote:
        """The price of the longest row that the id begins with (dated ids name their model first)."""
        row = max((row for row in self._prices if model.startswith(row)), key=len, default=None)
        return PriceQuote(self._dearest, known=False) if row is None else PriceQuote(self._prices[row], True, row)


def _price(model: str, row: Any) -> Price:
    try:
        tokens_in, tokens_out = Decimal(row["input_usd"]), Decimal(row["output_usd"])
    except (KeyError, TypeError, InvalidOperation) as error:
        raise SettingsError(f"price of {model!r}: input_usd and output_usd must be decimal texts: {error!r}") from error
    if not (tokens_in.is_finite() and tokens_out.is_finite()) or min(tokens_in, tokens_out) < 0:
        raise SettingsError(f"price of {model!r} is negative or infinite: {row!r}")
    return Price(
        input_microusd=_microusd(tokens_in),
        output_microusd=_microusd(tokens_out),
        cache_write_microusd=_microusd(tokens_in * _CACHE_WRITE_RATIO),
        cache_read_microusd=_microusd(tokens_in * _CACHE_READ_RATIO),
        cache_write_1h_microusd=_microusd(tokens_in * _CACHE_WRITE_1H_RATIO),
    )


def _microusd(usd: Decimal) -> int:
    return int((usd * _MICROUSD).to_integral_value(rounding=ROUND_CEILING))
