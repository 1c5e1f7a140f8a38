"""How many calls of a kind begin within a minute, counted from what is stored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuraphage.decide.rates import MINUTE_MS, begins_at_ms
from neuraphage.model.tool_traits import RatedKind, ToolTraits, WholeFile

NOW_MS = 1_000_000
COMMANDS, WRITES = RatedKind.COMMANDS, RatedKind.WRITES


def began(*ages_ms: int, kind: str = "commands") -> list[dict[str, Any]]:
    """Results of calls that began so long ago, the first one first; between them what does not count."""
    rows = [{"role": "user", "content": [], "began": [kind, NOW_MS - age]} for age in ages_ms]
    return [entry for row in rows for entry in ({"role": "assistant", "content": []}, row, {"role": "user"})]


@pytest.mark.parametrize(
    ("ages_ms", "most", "wait_ms"),
    [
        ((), 1, 0),
        ((10,), 2, 0),
        ((10,), 1, MINUTE_MS - 10),
        ((MINUTE_MS - 1,), 1, 1),
        ((MINUTE_MS,), 1, 0),
        ((50_000, 40_000, 10), 2, 20_000),
        ((50_000, 40_000, 10), 3, 10_000),
        ((90_000, 50_000, 10), 2, 10_000),
        ((-5_000,), 1, MINUTE_MS),  # a clock that was set back a little: never waited for longer than a minute
        ((-3_600_000,), 1, 0),  # and far back: no task waits for an hour
    ],
)
def test_when_one_more_may_begin(ages_ms: tuple[int, ...], most: int, wait_ms: int) -> None:
    """The oldest of the last ones is over a minute old then."""
    assert begins_at_ms(began(*ages_ms), COMMANDS, most, NOW_MS) - NOW_MS == wait_ms


def test_each_kind_is_counted_by_itself() -> None:
    """Writes do not hold up commands."""
    entries = began(1, 2, 3, kind="writes")
    assert begins_at_ms(entries, COMMANDS, 1, NOW_MS) == NOW_MS
    assert begins_at_ms(entries, WRITES, 3, NOW_MS) > NOW_MS


@given(st.lists(st.integers(0, 200_000), max_size=40), st.integers(1, 5))
def test_no_minute_has_more(gaps_ms: list[int], most: int) -> None:
    """Whenever calls are asked for: each begins as soon as it may, and no minute sees more than so many."""
    entries: list[dict[str, Any]] = []
    begins: list[int] = []
    now_ms = NOW_MS
    for gap_ms in gaps_ms:
        now_ms += gap_ms % 20_000
        now_ms = begins_at_ms(entries, COMMANDS, most, now_ms)
        assert begins_at_ms(entries, COMMANDS, most, now_ms) == now_ms, "it may begin then"
        begins.append(now_ms)
        entries.append({"role": "user", "began": ["commands", now_ms]})
    for first in begins:
        assert sum(first <= one < first + MINUTE_MS for one in begins) <= most


@pytest.mark.parametrize(
    ("traits", "kind"),
    [
        (ToolTraits(), None),
        (ToolTraits(reads=("path",)), None),
        (ToolTraits(writes=("path",)), WRITES),
        (ToolTraits(change=WholeFile()), WRITES),
        (ToolTraits(command="line", writes=("log",)), COMMANDS),
    ],
)
def test_the_traits_say_what_counts(traits: ToolTraits, kind: RatedKind | None) -> None:
    """Of tools of others as of built-in ones."""
    assert traits.rated is kind
