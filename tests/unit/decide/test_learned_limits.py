"""When workers begin to keep a limit that a provider tells of, what goes before it, and what a call takes of it."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.expected_use import FIRST_OUTPUT_TOKENS, expected_input, expected_output, most_input
from neuraphage.decide.learned_limits import exhausted_s, heard, limits_in_force, window_s_of
from neuraphage.model.capacity import LearnedLimits, ModelLimits, ToldLimits
from neuraphage.model.usage import Counters


def told(**kinds: tuple[int | None, int, float]) -> ToldLimits:
    """Of each kind what is allowed, what is left, and in how many seconds all is there again."""
    return ToldLimits(
        limits=LearnedLimits(**{kind: most for kind, (most, _, _) in kinds.items()}),
        left={kind: left for kind, (_, left, _) in kinds.items()},
        reset_s={kind: reset_s for kind, (_, _, reset_s) in kinds.items()},
    )


@pytest.mark.parametrize(
    ("answer", "near"),
    [
        (told(requests=(50, 26, 28.0)), ()),
        (told(requests=(50, 25, 30.0)), ("requests",)),
        (told(requests=(50, 0, 60.0)), ("requests",)),
        (told(requests=(1, 0, 60.0)), ("requests",)),
        (told(requests=(50, 0, 60.0), output_tokens=(8_000, 7_000, 8.0)), ("requests",)),
        (told(requests=(50, 49, 1.0), input_tokens=(30_000, 1_000, 58.0)), ("input_tokens",)),
        (told(requests=(50, 0, 90.0)), ("requests",)),
        (told(requests=(14_400, 0, 3_600.0)), None),
        (told(requests=(50, 0, 91.0)), None),
        (told(requests=(1, 0, 1.0)), ()),
        (told(requests=(60, 0, 29.0)), ()),
        (told(requests=(60, 0, 30.0)), ("requests",)),
        (told(tokens=(30_000, 0, 60.0)), None),
        (told(requests=(10**10 + 1, 0, 60.0)), None),
        (told(requests=(None, 0, 60.0)), None),
    ],
)
def test_a_limit_is_kept_when_little_of_it_is_left(answer: ToldLimits, near: tuple[str, ...] | None) -> None:
    """Half of it, where it is one of a minute: what is whole again in a second or only in an hour is none."""
    found = heard(answer, None, 60.0, 0.0, is_refused=False)
    assert (None if found is None else found.near) == near


def test_without_a_time_nothing_is_kept() -> None:
    """Nor without what is left: nobody knows then what counts already."""
    limits = LearnedLimits(requests=10)
    assert heard(ToldLimits(limits=limits, left={"requests": 0}), None, 60.0, 0.0, is_refused=True) is None
    assert heard(ToldLimits(limits=limits, reset_s={"requests": 9.0}), None, 60.0, 0.0, is_refused=True) is None


def test_a_refusal_says_that_something_is_used_up() -> None:
    """Whatever the numbers say: of what is not whole then, all is kept; else that of which little is left."""
    much = told(requests=(50, 50, 0.0), input_tokens=(30_000, 20_000, 20.0))
    found = heard(much, None, 60.0, 0.0, is_refused=True)
    assert found is not None
    assert found.near == ("input_tokens",)
    some = told(requests=(50, 3, 57.0), input_tokens=(30_000, 20_000, 20.0))
    found = heard(some, None, 60.0, 0.0, is_refused=True)
    assert found is not None
    assert found.near == ("requests",)


def test_what_is_set_goes_before_what_is_told() -> None:
    """Kind by kind."""
    answer = told(requests=(50, 0, 60.0), output_tokens=(8_000, 0, 60.0))
    found = heard(answer, ModelLimits(requests=500), 60.0, 0.0, is_refused=False)
    assert found is not None
    assert (found.limits, found.near) == ({"output_tokens": 8_000}, ("output_tokens",))
    assert limits_in_force(ModelLimits(requests=5), ModelLimits(requests=50, output_tokens=8_000)) == ModelLimits(
        requests=5, output_tokens=8_000
    )
    assert limits_in_force(ModelLimits(requests=5), None) == ModelLimits(requests=5)
    assert limits_in_force(None, ModelLimits(requests=50)) == ModelLimits(requests=50)
    assert limits_in_force(None, None) is None


def test_what_the_provider_has_counted_counts_as_long_as_there() -> None:
    """In windows of ours, from when it was told, and no longer than until all is there again."""
    found = heard(told(requests=(50, 20, 36.0)), None, 60.0, 6.0, is_refused=False)
    assert found is not None
    assert (found.used, found.till_ms) == ({"requests": 30}, {"requests": 30_000})
    found = heard(told(requests=(50, 20, 36.0)), None, 6.0, 1.0, is_refused=False)
    assert found is not None
    assert (found.used, found.till_ms) == ({"requests": 3}, {"requests": 5_000})


@pytest.mark.parametrize(
    ("limits", "window_s", "found_s"),
    [
        (ModelLimits(requests=50), 60.0, 60.0),
        (ModelLimits(requests=50), 6.0, 6.0),
        (ModelLimits(requests=5), 6.0, 60.0),
        (ModelLimits(requests=50, output_tokens=1), 6.0, 60.0),
        (ModelLimits(), 6.0, 6.0),
    ],
)
def test_no_window_allows_less_than_one(limits: ModelLimits, window_s: float, found_s: float) -> None:
    """A short one would allow no call at all for ever."""
    assert window_s_of(limits, window_s) == found_s


def test_what_workers_keep_themselves_holds_up_nobody() -> None:
    """Of the other kinds the last time counts."""
    answer = told(requests=(50, 0, 20.0), output_tokens=(8_000, 0, 40.0), tokens=(None, 0, 10.0))
    assert exhausted_s(answer) == 40.0
    assert exhausted_s(answer, ModelLimits(output_tokens=8_000)) == 20.0
    assert exhausted_s(answer, ModelLimits(requests=1, output_tokens=8_000)) == 10.0
    assert exhausted_s(told(requests=(50, 1, 20.0))) is None
    assert exhausted_s(None) is None


@pytest.mark.parametrize(
    ("replies", "written", "most", "expected"),
    [
        (0, 0, 32_000, FIRST_OUTPUT_TOKENS),
        (0, 0, 500, 500),
        (4, 400, 32_000, FIRST_OUTPUT_TOKENS),
        (4, 8_000, 32_000, 4_000),
        (1, 30_000, 32_000, 32_000),
    ],
)
def test_a_reply_is_expected_as_long_as_usual(replies: int, written: int, most: int, expected: int) -> None:
    """Twice the average of the task, and no more than it may have."""
    assert expected_output(Counters(model_calls=replies, output_tokens=written), most) == expected


def entry(role: str, text: str, **cache: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
    return found | ({"cache": cache} if cache else {})


def test_what_the_cache_holds_is_not_read() -> None:
    """While it holds it: then only what is new since the last reply, that reply with it."""
    entries = [entry("user", "a" * 30_000), entry("assistant", "b" * 300, read=0, written=10_000, at_ms=1_000)]
    entries.append(entry("user", "c" * 300))
    assert expected_input(entries, [], 60_000) < 400
    assert expected_input(entries, [], 301_001) == most_input(entries, []) > 10_000
    entries[1]["cache"]["hour"] = True
    assert expected_input(entries, [], 301_001) < 400
    entries[1]["cache"] |= {"written": 0}
    assert expected_input(entries, [], 60_000) > 10_000
    assert expected_input(entries[:1], ["a tool"], 60_000) == most_input(entries[:1], ["a tool"])
