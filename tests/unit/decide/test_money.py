"""Prices and limits as people write them, worst cases, and reports of costs: pure."""

from __future__ import annotations

from typing import Literal

import pytest

from neuraphage.decide.cost import cost_microusd
from neuraphage.decide.costs import cost_report, day_text, first_day, task_report
from neuraphage.decide.own_prices import read_label_limit, read_price
from neuraphage.decide.worst_case import request_tokens, worst_case_microusd
from neuraphage.errors import BadInput
from neuraphage.model.message import ModelRequest
from neuraphage.model.money import OTHERS, By, LedgerRow, Spent
from neuraphage.model.usage import Price, Usage

DAY_MS = 86_400_000


def price(tokens_in: int, tokens_out: int, write: int, read: int, hour_write: int | None = None) -> Price:
    return Price(
        input_microusd=tokens_in,
        output_microusd=tokens_out,
        cache_write_microusd=write,
        cache_read_microusd=read,
        cache_write_1h_microusd=2 * tokens_in if hour_write is None else hour_write,
    )


@pytest.mark.parametrize(
    ("text", "model", "expected"),
    [
        ("mine 0.5 1.5", "mine", price(500_000, 1_500_000, 625_000, 50_000)),
        ("openai:llama-3 0 0", "openai:llama-3", price(0, 0, 0, 0)),
        ("mine 2 10 2.5 0.2", "mine", price(2_000_000, 10_000_000, 2_500_000, 200_000)),
        ("mine 2 10 2.5 0.2 3", "mine", price(2_000_000, 10_000_000, 2_500_000, 200_000, 3_000_000)),
        ("mine 0.0000001 1", "mine", price(1, 1_000_000, 1, 1, 1)),
    ],
)
def test_prices_are_read(text: str, model: str, expected: Price) -> None:
    """In dollars a million tokens, rounded up; without cache prices these follow from that of input."""
    assert read_price(text) == (model, expected)


@pytest.mark.parametrize(
    "text", ["", "mine", "mine 1", "mine 1 2 3", "mine a 1", "mine -1 1", "mine nan 1", "mine 1 1e9"]
)
def test_what_is_no_price_is_refused(text: str) -> None:
    """With the form that is understood."""
    with pytest.raises(BadInput, match="dollars"):
        read_price(text)


def test_limits_of_labels_are_read() -> None:
    """In micro-dollars, as every amount of a setting."""
    assert read_label_limit(" team=web  5000000 ") == ("team=web", 5_000_000)
    for text in ("team 5", "team=web", "team=web 1.5", "team=web -1", f"team=web {10**16}", "", "team=web ٥"):
        with pytest.raises(BadInput):
            read_label_limit(text)


def request(text: str, max_tokens: int) -> ModelRequest:
    messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    return ModelRequest(request_id="r", model="m", system=[], messages=messages, tools=[], max_tokens=max_tokens)


@pytest.mark.parametrize("of", [price(2_000_000, 10_000_000, 2_500_000, 200_000), price(3_000_000, 10_000_000, 0, 0)])
@pytest.mark.parametrize("text", ["", "word " * 2_000, "漢字" * 2_000])
@pytest.mark.parametrize("kept", ["5m", "1h"])
def test_no_reply_costs_more_than_the_worst_case(of: Price, text: str, kept: Literal["5m", "1h"]) -> None:
    """However its input is split between the prompt cache and full price, and whichever of the two is dearer."""
    asked = request(text, 500).model_copy(update={"cache_ttl": kept})
    tokens = request_tokens(asked)
    worst = worst_case_microusd(asked, of)
    for cached in (0, tokens // 2, tokens):
        hour = cached if kept == "1h" else 0
        usage = Usage(
            input_tokens=tokens - cached,
            cache_creation_input_tokens=cached,
            cache_creation_1h_tokens=hour,
            output_tokens=500,
        )
        assert cost_microusd(usage, of) <= worst
    read = Usage(cache_read_input_tokens=tokens, output_tokens=500)
    assert cost_microusd(read, of) <= worst


# --- reports ---


def row(day: int, kind: str, name: str, cost: int) -> LedgerRow:
    return LedgerRow(day=day, kind=kind, name=name, spent=Spent(cost_microusd=cost, model_calls=1))


ROWS = [
    *(row(day, "d", "", cost) for day, cost in ((0, 100), (20_000, 7), (20_001, 5))),
    *(row(day, "m", "a", cost) for day, cost in ((0, 100), (20_000, 2), (20_001, 5))),
    row(20_000, "m", OTHERS, 5),
    row(20_000, "l", "", 7),
    row(20_001, "l", "team=web", 5),
    row(20_001, "l", "kind=a", 5),
]


def test_reports_add_the_rows_up() -> None:
    """By day the newest first, and what is before the kept days last; else the dearest first."""
    days = cost_report(ROWS, By.DAY, None)
    assert [(line.text, line.cost_microusd) for line in days.lines] == [
        ("2024-10-05", 5), ("2024-10-04", 7), ("(before)", 100),
    ]  # fmt: skip
    models = cost_report(ROWS, By.MODEL, 20_000)
    assert [(line.text, line.cost_microusd) for line in models.lines] == [("a", 7), ("(further models)", 5)]
    labels = cost_report(ROWS, By.LABEL, 20_000)
    assert [line.text for line in labels.lines] == ["(no label)", "kind=a", "team=web"]
    assert (days.total.cost_microusd, models.total.cost_microusd, labels.total.model_calls) == (112, 12, 2)
    assert (days.since_day, models.since_day) == (None, "2024-10-04")


def test_without_any_task_all_was_spent_by_deleted_ones() -> None:
    """Nothing of the total is left out."""
    (line,) = task_report(ROWS, [], None).lines
    assert (line.key, line.cost_microusd) == ("", 112)


@pytest.mark.parametrize(
    ("since", "expected"), [("1d", 20_001), ("2d", 20_000), ("1w", 19_995), ("2024-10-04", 20_000), ("99999d", 1)]
)
def test_since_names_a_day(since: str, expected: int) -> None:
    """A date, or so many days or weeks, today included."""
    assert first_day(since, 20_001 * DAY_MS + 5) == expected


def test_days_are_written_as_dates() -> None:
    """In UTC; number 0 stands for all before."""
    assert (day_text(20_001), day_text(0)) == ("2024-10-05", "before")
