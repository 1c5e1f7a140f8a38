"""Prices and limits of money as people write them in settings."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal, InvalidOperation

from neuraphage.errors import BadInput
from neuraphage.model.limits import MOST_COST_MICROUSD
from neuraphage.model.usage import Price

MICROUSD = Decimal(1_000_000)
CACHE_WRITE_RATIO = Decimal("1.25")
CACHE_READ_RATIO = Decimal("0.1")
HOUR_WRITE_RATIO = Decimal(2)
MOST_USD = Decimal(1_000_000)
"""Dearest price of a million tokens."""
PRICE_FORM = "MODEL INPUT OUTPUT [CACHE_WRITE CACHE_READ [HOUR_WRITE]], in dollars a million tokens"
LABEL_FORM = "NAME=VALUE MICROUSD, as in team=web 5000000"
_LABEL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,49}=[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,99}")


def read_label(text: str) -> tuple[str, str]:
    """A label as people write it, `team=web`, as its name and value.

    Raises:
        BadInput: it is none.
    """
    if not _LABEL.fullmatch(text):
        raise BadInput(
            f"{text[:200]!r} is no label; write NAME=VALUE, as in team=web: letters, digits and _ . - (in a value"
            " also : / @ +), the name in small letters"
        )
    name, _, value = text.partition("=")
    return name, value


def read_price(text: str) -> tuple[str, Price]:
    """A price of the settings: the id of a model, or how ids begin, and what a million tokens cost.

    Raises:
        BadInput: it is none.
    """
    words = text.split()
    if len(words) not in (3, 5, 6):
        raise BadInput(f"{text[:200]!r}: write {PRICE_FORM}")
    model, *amounts = words
    usd = [_dollars(amount, text) for amount in amounts]
    return model, price_of(usd[0], usd[1], *usd[2:])


def price_of(
    tokens_in: Decimal,
    tokens_out: Decimal,
    cache_write: Decimal | None = None,
    cache_read: Decimal | None = None,
    hour_write: Decimal | None = None,
) -> Price:
    """A price in whole micro-dollars.

    Args:
        tokens_in, tokens_out: dollars a million tokens.
        cache_write, cache_read: likewise; 1.25 and 0.1 times input when not given.
        hour_write: of what is kept for an hour; twice the input when not given.
    """
    return Price(
        input_microusd=_microusd(tokens_in),
        output_microusd=_microusd(tokens_out),
        cache_write_microusd=_microusd(tokens_in * CACHE_WRITE_RATIO if cache_write is None else cache_write),
        cache_read_microusd=_microusd(tokens_in * CACHE_READ_RATIO if cache_read is None else cache_read),
        cache_write_1h_microusd=_microusd(tokens_in * HOUR_WRITE_RATIO if hour_write is None else hour_write),
    )


def read_label_limit(text: str) -> tuple[str, int]:
    """The pool of a label in the settings: the label, as `team=web`, and its limit in micro-dollars.

    Raises:
        BadInput: it is none.
    """
    label, _, amount = text.strip().rpartition(" ")
    label = label.strip()
    read_label(label or text)
    if not (amount.isdecimal() and amount.isascii()) or int(amount) > MOST_COST_MICROUSD:
        raise BadInput(f"{text[:200]!r}: write {LABEL_FORM}; at most {MOST_COST_MICROUSD}")
    return label, int(amount)


def _dollars(amount: str, text: str) -> Decimal:
    try:
        usd = Decimal(amount)
    except InvalidOperation:
        raise BadInput(f"{text[:200]!r}: {amount[:40]!r} is no number; write {PRICE_FORM}") from None
    if not usd.is_finite() or not 0 <= usd <= MOST_USD:
        raise BadInput(f"{text[:200]!r}: {amount[:40]!r} is out of range; give dollars from 0 to {MOST_USD}")
    return usd


def _microusd(usd: Decimal) -> int:
    return int((usd * MICROUSD).to_integral_value(rounding=ROUND_CEILING))
