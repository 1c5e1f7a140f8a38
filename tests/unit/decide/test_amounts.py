"""Limits, money and hashes: small pure functions, at their edges."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.decide.cost import cost_microusd
from neuraphage.decide.hashing import (
    canonical,
    conversation_prompt_id,
    effect_id,
    prompt_id,
    request_id,
    sha256_hex,
)
from neuraphage.decide.limits import limit_reached
from neuraphage.model.task import Limits
from neuraphage.model.usage import Counters, Price, Usage

# --- limits (K9) ---


@pytest.mark.parametrize(
    ("limits", "counters", "word"),
    [
        ((0, 10), (0, 0), "turns"),
        ((1, 10), (0, 0), None),
        ((1, 10), (1, 0), "turns"),
        ((1, 10), (2, 0), "turns"),
        ((5, 0), (0, 0), "spent"),
        ((5, 1), (0, 0), None),
        ((5, 10), (0, 9), None),
        ((5, 10), (0, 10), "spent"),
        ((5, 10), (0, 11), "spent"),
        ((0, 0), (0, 0), "turns"),
    ],
)
def test_a_limit_stops_at_its_value(limits: tuple[int, int], counters: tuple[int, int], word: str | None) -> None:
    """At the limit no further call is made; zero means stop, never unlimited."""
    reached = limit_reached(
        Limits(max_turns=limits[0], max_cost_microusd=limits[1]),
        Counters(iteration=counters[0], cost_microusd=counters[1]),
    )
    assert reached is None if word is None else reached is not None and word in reached


def test_a_limit_names_itself_and_what_to_do() -> None:
    """The sentence shows the amounts as people write them."""
    text = limit_reached(Limits(max_cost_microusd=1_500_000), Counters(cost_microusd=1_567_800))
    assert text == "The task has spent $1.5678 of its $1.50. Raise the limit to go on."


# --- money ---

tokens = st.integers(0, 10**9)
prices = st.integers(0, 10**9)


@given(tokens, tokens, tokens, tokens, prices, prices, prices, prices)
def test_cost_is_exact_and_rounded_up(i: int, o: int, w: int, r: int, pi: int, po: int, pw: int, pr: int) -> None:
    """Never less than the exact price and less than one micro-dollar above it, at any size."""
    usage = Usage(input_tokens=i, output_tokens=o, cache_creation_input_tokens=w, cache_read_input_tokens=r)
    price = Price(input_microusd=pi, output_microusd=po, cache_write_microusd=pw, cache_read_microusd=pr)
    exact = Fraction(i * pi + o * po + w * pw + r * pr, 1_000_000)
    assert exact <= cost_microusd(usage, price) < exact + 1


def test_each_kind_of_token_has_its_own_price() -> None:
    """A million of each kind costs the sum of the four prices."""
    price = Price(input_microusd=1, output_microusd=20, cache_write_microusd=300, cache_read_microusd=4_000)
    million = 1_000_000
    usage = Usage(
        input_tokens=million,
        output_tokens=million,
        cache_creation_input_tokens=million,
        cache_read_input_tokens=million,
    )
    assert cost_microusd(usage, price) == 4_321
    assert cost_microusd(Usage(), price) == 0


# --- hashes (R35) ---


def test_equal_values_hash_equal_whatever_their_order() -> None:
    """Keys are sorted at every depth; lists keep their order."""
    assert canonical({"b": 1, "a": {"d": 2, "c": [3, 4]}}) == b'{"a":{"c":[3,4],"d":2},"b":1}'
    assert sha256_hex({"a": 1, "b": 2}) == sha256_hex({"b": 2, "a": 1})
    assert sha256_hex([1, 2]) != sha256_hex([2, 1])


def test_the_hash_is_sha256_of_the_json() -> None:
    """A known value, so that stored hashes stay comparable over releases."""
    assert sha256_hex({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_neighbouring_parts_do_not_run_together() -> None:
    """Parts are hashed as a list: moving a character from one to the next is another id."""
    assert effect_id("task-1", "2t", {}) != effect_id("task-12", "t", {})
    assert prompt_id("t", 1, "1x", "p") != prompt_id("t", 11, "x", "p")


def test_ids_change_with_each_part_and_with_nothing_else() -> None:
    """The same call has the same id in every process; another task, call, turn or parameter has another."""
    assert effect_id("t", "u", {"a": 1, "b": 2}) == effect_id("t", "u", {"b": 2, "a": 1})
    effects = [effect_id("t", "u", {}), effect_id("T", "u", {}), effect_id("t", "U", {}), effect_id("t", "u", {"a": 1})]
    prompts = [prompt_id("t", 0, "u", "p"), prompt_id("t", 1, "u", "p"), prompt_id("t", 0, "u", "q")]
    requests = [request_id("t", 0, 1), request_id("t", 0, 2), request_id("t", 1, 1)]
    for made in (effects, prompts, requests):
        assert len(set(made)) == len(made)


def test_ids_have_the_forms_that_others_rely_on() -> None:
    """Spool entries take 32 hexadecimal digits; a talk prompt is known by its ending (prelude.lua)."""
    assert len(effect_id("t", "u", {})) == 32
    assert set(effect_id("t", "u", {})) <= set("0123456789abcdef")
    assert conversation_prompt_id("t", 3).endswith(":conversation")
    assert request_id("t", 0, 1).startswith("req-")
