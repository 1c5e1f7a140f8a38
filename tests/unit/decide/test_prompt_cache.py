"""How long a request is to be kept in the provider's cache, and what has broken it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.decide.prompt_cache import LAST_GAPS, Broken, last_break, lifetime
from neuraphage.model.cache_use import CacheBreak

MINUTE_MS = 60_000


def reply(
    at_min: float, tokens: int, read: int = 0, written: int = 0, head: str = "m.s.t", **more: Any
) -> dict[str, Any]:
    cache = {"read": read, "written": written, "at_ms": int(at_min * MINUTE_MS), "head": head, **more}
    return {"role": "assistant", "content": [], "turn": int(at_min), "tokens": tokens, "cache": cache}


def talk(*pauses_min: float, tokens: int = 10_000, each: int = 1_000) -> list[dict[str, Any]]:
    """Replies with these pauses between them; each adds so many tokens."""
    now, entries = 0.0, [reply(0, tokens)]
    for number, pause in enumerate(pauses_min, start=1):
        now += pause
        entries += [{"role": "user", "content": []}, reply(now, tokens + number * each)]
    return entries


@pytest.mark.parametrize(
    ("pauses", "chosen"),
    [
        ((), "5m"),
        ((1, 1, 1, 1), "5m"),
        ((10,), "1h"),
        ((1, 10, 1, 1), "1h"),
        ((70, 70), "5m"),  # longer than both
        ((5,), "5m"),
        ((10, *[1] * LAST_GAPS), "5m"),  # long ago
    ],
)
def test_a_pause_that_would_be_paid_for_again_is_bridged(pauses: tuple[float, ...], chosen: str) -> None:
    """Where it is longer than five minutes and no longer than an hour."""
    assert lifetime(talk(*pauses)) == chosen


def test_what_is_added_may_cost_more_than_a_pause() -> None:
    """One pause over a short request, and much that is written: an hour would cost more."""
    assert lifetime(talk(10, 1, 1, tokens=1_000, each=20_000)) == "5m"
    assert lifetime(talk(10, 1, 1, tokens=100_000, each=20_000)) == "1h"


def test_entries_of_a_release_that_told_nothing_are_passed_over() -> None:
    """So are those of a provider without a cache."""
    assert lifetime([{"role": "assistant", "content": []}, {"role": "user", "content": []}]) == "5m"
    assert last_break([{"role": "assistant", "content": []}]) is None


@given(
    st.lists(st.tuples(st.sampled_from([1, 4, 6, 30, 59, 61]), st.integers(100, 5_000)), max_size=LAST_GAPS),
    st.integers(5_000, 100_000),
)
def test_it_is_the_cheaper_one_over_the_turns_that_it_looks_at(gaps: list[tuple[int, int]], start: int) -> None:
    """Held against the bill of both, turn by turn, in thousandths of the price of input."""
    entries, now, tokens = [reply(0, start)], 0, start
    bills = {"5m": 0, "1h": 0}
    for pause, added in gaps:
        for name, write, life in (("5m", 1_250, 5), ("1h", 2_000, 60)):
            bills[name] += added * write + (tokens * 100 if pause <= life else tokens * write)
        now, tokens = now + pause, tokens + added
        entries.append(reply(now, tokens))
    if all(pause <= 60 for pause, _ in gaps):
        cheaper = "1h" if bills["1h"] < bills["5m"] else "5m"
        assert lifetime(entries) == cheaper


@pytest.mark.parametrize(
    ("later", "between", "why"),
    [
        (reply(2, 9_000, head="n.s.t"), (), CacheBreak.MODEL),
        (reply(2, 9_000, head="m.x.t"), (), CacheBreak.SYSTEM),
        (reply(2, 9_000, head="m.s.x"), (), CacheBreak.TOOLS),
        (reply(2, 4_000), ({"role": "user", "content": [], "compaction": {}},), CacheBreak.COMPACTION),
        (reply(9, 9_000), (), CacheBreak.PAUSE),
        (reply(2, 9_000), (), CacheBreak.UNKNOWN),
    ],
)
def test_what_broke_the_cache_is_told(later: dict[str, Any], between: tuple[Any, ...], why: CacheBreak) -> None:
    """By what has changed since the request before."""
    entries = [reply(0, 8_000, written=7_900), *between, later]
    assert last_break(entries) == Broken(later["turn"], why)


def test_a_pause_is_measured_by_how_long_it_was_kept() -> None:
    """Half an hour is none to a request that was kept for an hour."""
    entries = [reply(0, 8_000, written=7_900, hour=True), reply(30, 9_000)]
    assert last_break(entries) == Broken(30, CacheBreak.UNKNOWN)


def test_a_request_that_was_read_has_broken_nothing() -> None:
    """And the newest break is told, not the oldest; one that was never kept cannot be broken."""
    fine = [reply(0, 8_000, written=7_900), reply(1, 9_000, read=7_900, written=900)]
    assert last_break(fine) is None
    assert last_break([reply(0, 500), reply(1, 900)]) is None
    twice = [*fine, reply(2, 9_500, head="m.s.x", written=9_400), reply(9, 9_900, written=9_800, head="m.s.x")]
    assert last_break(twice) == Broken(9, CacheBreak.PAUSE)
    assert last_break([*twice, reply(10, 9_950, read=9_800, head="m.s.x")]) == Broken(9, CacheBreak.PAUSE)
