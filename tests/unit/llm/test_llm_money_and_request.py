"""Prices, costs, and the request's body with its cache breakpoints."""

import copy
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.decide.cost import cost_microusd
from neuraphage.errors import SettingsError
from neuraphage.llm.packaged_table import packaged_text, rows_of
from neuraphage.llm.pricing import PriceTable
from neuraphage.llm.request import MAX_BREAKPOINTS, request_body
from neuraphage.model.message import ModelRequest
from neuraphage.model.usage import Price, Usage

MARK = {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("claude-haiku-5-5", (100_000, 500_000, 125_000, 10_000, 200_000)),
        ("claude-sonnet-5-5", (2_000_000, 10_000_000, 2_500_000, 100_000, 4_000_000)),
        ("claude-opus-5-5", (4_000_000, 20_000_000, 5_000_000, 200_000, 8_000_000)),
        ("claude-fable-5-1", (10_000_000, 50_000_000, 12_500_000, 250_000, 20_000_000)),
        ("claude-fable-5-2", (8_000_000, 40_000_000, 10_000_000, 800_000, 16_000_000)),
        ("scripted-1", (2_000_000, 10_000_000, 2_500_000, 200_000, 4_000_000)),
    ],
)
def test_packaged_prices(model, price):
    """The table of the release says these prices, for the id itself and for a dated one."""
    table = PriceTable.packaged()
    for name in (model, f"{model}-20261101"):
        quote = table.quote(name)
        assert (quote.known, quote.row) == (True, model)
        assert amounts(quote.price) == price


def amounts(price: Price) -> tuple[int, ...]:
    return tuple(value for name, value in price.model_dump().items() if name.endswith("_microusd"))


def test_a_long_request_has_a_price_of_its_own():
    """Whatever of it is cached, and for all of its tokens: one token more than 100,000 is five times as dear."""
    price = PriceTable.packaged().quote("claude-haiku-5-5").price
    assert price.long is not None
    assert amounts(price.long) == tuple(5 * amount for amount in amounts(price))
    most = {"cache_read_input_tokens": 90_000, "cache_creation_input_tokens": 4_000, "output_tokens": 1_000}
    assert cost_microusd(Usage(input_tokens=6_000, **most), price) == 900 + 500 + 500 + 600
    assert cost_microusd(Usage(input_tokens=6_001, **most), price) == 5 * 2_500 + 1
    assert all(one.price.long is None for one in map(PriceTable.packaged().quote, ("claude-opus-5-5", "scripted-1")))


def test_what_is_packaged_says_where_it_was_read():
    """Each row of a real model names its source, so that who doubts a figure can look."""
    for name in ("prices.json", "models.json"):
        rows = rows_of(packaged_text(name), name)
        assert [model for model, row in rows.items() if "scripted" not in model and not row.get("source")] == []


def test_the_longest_row_wins():
    """A dated row beats the row of its family."""
    table = PriceTable.parse(
        '{"models": {"a": {"input_usd": "1", "output_usd": "1"}, "a-2": {"input_usd": "3", "output_usd": "1"}}}'
    )
    assert table.quote("a-2026").row == "a-2"
    assert table.quote("a-1").row == "a"


def test_an_unknown_model_costs_the_dearest_price():
    """Limits err on the safe side, field by field, and the caller is told."""
    table = PriceTable.parse(
        '{"models": {"a": {"input_usd": "9", "output_usd": "1"}, "b": {"input_usd": "1", "output_usd": "7"}}}'
    )
    quote = table.quote("mystery")
    assert not quote.known
    assert (quote.price.input_microusd, quote.price.output_microusd) == (9_000_000, 7_000_000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"models": {}}',
        '{"models": {"a": {}}}',
        '{"models": {"a": {"input_usd": "x", "output_usd": "1"}}}',
        '{"models": {"a": {"input_usd": "-1", "output_usd": "1"}}}',
        '{"models": {"a": {"input_usd": "NaN", "output_usd": "1"}}}',
        '{"models": {"a": {"input_usd": "1", "output_usd": "1", "cache_read_usd": "-1"}}}',
        '{"models": {"a": {"input_usd": "1", "output_usd": "1", "long": {}}}}',
        '{"models": {"a": {"input_usd": "1", "output_usd": "1", "long": {"input_usd": "1", "output_usd": "1"}}}}',
    ],
)
def test_a_broken_table_is_refused(text):
    """A table that cannot limit costs stops the start, not a task later."""
    with pytest.raises(SettingsError):
        PriceTable.parse(text)


counts = st.integers(min_value=0, max_value=10**9)
prices = st.builds(
    Price,
    input_microusd=counts,
    output_microusd=counts,
    cache_write_microusd=counts,
    cache_read_microusd=counts,
    cache_write_1h_microusd=counts,
)
usages = st.builds(
    Usage,
    input_tokens=counts,
    output_tokens=counts,
    cache_creation_input_tokens=counts,
    cache_read_input_tokens=counts,
    cache_creation_1h_tokens=counts,
)


@given(usages, prices)
def test_cost_is_exact_and_rounded_up(usage, price):
    """The cost is the true one or less than a micro-dollar above it, never below."""
    exact = Fraction(
        usage.input_tokens * price.input_microusd
        + usage.output_tokens * price.output_microusd
        + max(0, usage.cache_creation_input_tokens - usage.cache_creation_1h_tokens) * price.cache_write_microusd
        + min(usage.cache_creation_input_tokens, usage.cache_creation_1h_tokens) * price.cache_write_1h_microusd
        + usage.cache_read_input_tokens * price.cache_read_microusd,
        1_000_000,
    )
    cost = cost_microusd(usage, price)
    assert isinstance(cost, int)
    assert exact <= cost < exact + 1


def test_cost_of_a_known_reply():
    """1000 in, 500 out, 2000 written to and 3000 read from the cache of the sonnet model cost 12300 micro-dollars."""
    price = PriceTable.packaged().quote("claude-sonnet-5-5").price
    usage = Usage(
        input_tokens=1_000, output_tokens=500, cache_creation_input_tokens=2_000, cache_read_input_tokens=3_000
    )
    assert cost_microusd(usage, price) == 2_000 + 5_000 + 5_000 + 300


def test_what_is_kept_for_an_hour_costs_twice():
    """Of the 2000 written ones 500 for an hour."""
    price = PriceTable.packaged().quote("claude-sonnet-5-5").price
    usage = Usage(cache_creation_input_tokens=2_000, cache_creation_1h_tokens=500)
    assert cost_microusd(usage, price) == 1_500 * 2.5 + 500 * 4


def _text(text, **more):
    return {"type": "text", "text": text, **more}


def _request(**changes):
    fields = {
        "request_id": "r",
        "model": "m",
        "system": [_text("one"), _text("two")],
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": [_text("a")]},
            {"role": "user", "content": [_text("b"), _text("c")]},
        ],
        "tools": [{"name": "x", "input_schema": {}}, {"name": "y", "input_schema": {}}],
        "max_tokens": 7,
    }
    return ModelRequest(**(fields | changes))


def _marked(body):
    found = [f"tools.{i}" for i, tool in enumerate(body.get("tools", ())) if "cache_control" in tool]
    found += [f"system.{i}" for i, block in enumerate(body.get("system", ())) if "cache_control" in block]
    for i, message in enumerate(body["messages"]):
        if isinstance(message["content"], list):
            found += [f"messages.{i}.{j}" for j, block in enumerate(message["content"]) if "cache_control" in block]
    return found


def test_breakpoints_end_tools_system_and_conversation():
    """The last tool, the last system block and the last blocks of the last two user messages are marked."""
    body = request_body(_request())
    assert _marked(body) == ["tools.1", "system.1", "messages.0.0", "messages.2.1"]
    assert body["system"][1] == _text("two", cache_control=MARK)


def test_the_end_of_the_former_request_is_marked_again():
    """However many blocks a turn adds: the API finds the cached part only within 20 blocks of a mark."""
    former = _request()
    calls = [{"type": "tool_use", "id": f"t{i}", "name": "x", "input": {}} for i in range(30)]
    results = [{"type": "tool_result", "tool_use_id": f"t{i}", "content": "r"} for i in range(30)]
    turn = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    (*_, end) = _marked(request_body(former))
    assert _marked(request_body(_request(messages=[*former.messages, *turn])))[-2:] == [end, "messages.4.29"]


def test_the_request_itself_stays_unmarked():
    """Marks are set on copies: what is stored never carries them."""
    request = _request()
    before = copy.deepcopy(request.model_dump())
    request_body(request)
    assert request.model_dump() == before


def test_thinking_and_empty_text_are_never_marked():
    """The API refuses marks there; the block before is marked instead."""
    thinking = {"type": "thinking", "thinking": "t", "signature": "s"}
    content = [_text("keep"), thinking, {"type": "redacted_thinking", "data": "d"}, _text(""), _text(" \n")]
    body = request_body(_request(messages=[{"role": "user", "content": content}], system=[], tools=[]))
    assert _marked(body) == ["messages.0.0"]
    only = request_body(_request(messages=[{"role": "user", "content": [_text("")]}], system=[_text(" ")], tools=[]))
    assert _marked(only) == []


def test_plain_text_becomes_a_block():
    """A message whose content is plain text is marked as a block of that text."""
    body = request_body(_request(messages=[{"role": "user", "content": "hi"}]))
    assert body["messages"] == [{"role": "user", "content": [_text("hi", cache_control=MARK)]}]


def test_existing_marks_are_kept_and_the_limit_holds():
    """Marks that the caller set count; no more than the API's limit are sent, and none twice."""
    system = [_text(str(number), cache_control=MARK) for number in range(3)]
    body = request_body(_request(system=system))
    assert len(_marked(body)) == MAX_BREAKPOINTS
    nested = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [_text(str(number), cache_control=MARK) for number in range(MAX_BREAKPOINTS)],
    }
    assert _marked(request_body(_request(messages=[{"role": "user", "content": [nested]}]))) == []


def test_empty_parts_are_left_out_and_extra_wins():
    """The API refuses an empty list of tools; fields of extra replace ours."""
    body = request_body(_request(system=[], tools=[], extra={"max_tokens": 9, "thinking": {"type": "adaptive"}}))
    assert set(body) == {"model", "messages", "max_tokens", "thinking"}
    assert body["max_tokens"] == 9


def test_an_hour_is_asked_for_at_every_mark():
    """The API refuses an hour behind five minutes."""
    body = request_body(_request(cache_ttl="1h"))
    assert body["system"][1] == _text("two", cache_control={"type": "ephemeral", "ttl": "1h"})
    assert all(mark == {"type": "ephemeral", "ttl": "1h"} for mark in _marks(body))
    assert all(mark == MARK for mark in _marks(request_body(_request())))


def _marks(body):
    blocks = [*body["tools"], *body["system"], *(block for m in body["messages"] for block in m["content"])]
    return [block["cache_control"] for block in blocks if isinstance(block, dict) and "cache_control" in block]
