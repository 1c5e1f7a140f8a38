"""Limits, money and hashes: small pure functions, at their edges."""

from __future__ import annotations

import uuid
from fractions import Fraction
from math import inf, nan

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
from neuraphage.decide.limits import limit_change, limit_failure, limit_reached, raising
from neuraphage.errors import BadInput
from neuraphage.model.effect import Marker, MarkerName
from neuraphage.model.limits import Limits
from neuraphage.model.task import QueuedDetail, Status, TaskRecord, TaskSpec
from neuraphage.model.usage import Counters, Price, Usage

# --- limits ---


def record(limits: tuple[int, int], counters: tuple[int, int], turns_from: int = 0) -> TaskRecord:
    """A task with these limits that has done so many turns and spent so much."""
    spec = TaskSpec(task_id=f"task-{uuid.UUID(int=7)}", name="n", prompt="p", model="m")
    return TaskRecord(
        spec=spec,
        status=Status.QUEUED,
        detail=QueuedDetail(queued_at_ms=0),
        marker=Marker(name=MarkerName.TASK_CREATED),
        counters=Counters(iteration=counters[0], cost_microusd=counters[1]),
        seq=1,
        fence=0,
        limits=Limits(max_turns=limits[0], max_cost_microusd=limits[1]),
        turns_from=turns_from,
    )


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
    reached = limit_reached(record(limits, counters))
    assert reached is None if word is None else reached is not None and word in reached
    assert bool(raising(record(limits, counters))) is (word is not None)


@pytest.mark.parametrize(
    ("limits", "counters", "text"),
    [
        (
            (50, 1_500_000),
            (1, 1_567_800),
            "spent $1.5678, its limit is $1.50. To go on with a higher one: `neuraphage retry {} --max-cost 3`.",
        ),
        (
            (2, 10),
            (2, 11),
            "used 2 turns, its limit is 2 and spent $0.000011, its limit is $0.00001."
            " To go on with a higher one: `neuraphage retry {} --max-turns 4 --max-cost 0.00002`.",
        ),
        (
            (0, 0),
            (0, 0),
            "used 0 turns, its limit is 0 and spent $0, its limit is $0."
            " To go on with a higher one: `neuraphage retry {} --max-turns 10 --max-cost 1`.",
        ),
        (
            (3, 10),
            (30, 0),
            "used 30 turns, its limit is 3. To go on with a higher one: `neuraphage retry {} --max-turns 48`.",
        ),
        (
            (10_000, 10),
            (10_000, 0),
            "used 10000 turns, its limit is 10000. No higher one can be set."
            " To start anew: `neuraphage recover --reset {}`.",
        ),
    ],
)
def test_a_limit_names_itself_and_the_command_that_goes_on(
    limits: tuple[int, int], counters: tuple[int, int], text: str
) -> None:
    """Amounts as people write them, and every limit that is reached is raised far enough by the one command."""
    task = record(limits, counters)
    assert limit_failure(task) == f"The task has {text.format(task.short_id)}"


def test_turns_count_from_where_the_present_work_began() -> None:
    """Money counts from the start all the same."""
    assert limit_reached(record((3, 10), (5, 0), turns_from=3)) is None
    assert "used 3 turns" in str(limit_reached(record((3, 10), (6, 0), turns_from=3)))
    assert "spent" in str(limit_reached(record((3, 10), (6, 10), turns_from=6)))


@pytest.mark.parametrize(
    ("turns", "dollars", "word"),
    [(-1, None, "-1"), (10_001, None, "10000"), (None, -0.1, "-0.1"), (None, nan, "nan"), (None, inf, "inf")],
)
def test_limits_out_of_their_range_are_refused(turns: int | None, dollars: float | None, word: str) -> None:
    """With the range in the words."""
    with pytest.raises(BadInput, match=word):
        limit_change(turns, dollars)


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


# --- hashes ---


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
    requests = [request_id("t", 1), request_id("t", 2), request_id("T", 1)]
    for made in (effects, prompts, requests):
        assert len(set(made)) == len(made)


def test_ids_have_the_forms_that_others_rely_on() -> None:
    """Spool entries take 32 hexadecimal digits; a talk prompt is known by its ending (prelude.lua)."""
    assert len(effect_id("t", "u", {})) == 32
    assert set(effect_id("t", "u", {})) <= set("0123456789abcdef")
    assert conversation_prompt_id("t", 3) == conversation_prompt_id("t", 3) != conversation_prompt_id("t", 4)
    assert request_id("t", 1).startswith("req-")
