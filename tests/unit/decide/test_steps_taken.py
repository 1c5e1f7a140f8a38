"""What a task has done, as it is read back from its conversation."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.steps_taken import LOOK_BACK, Called, Noticed, Replied, steps_taken

Entry = dict[str, Any]
ASKED: Entry = {"role": "user", "content": [{"type": "text", "text": "Do it."}], "turn": 0}


def called(
    number: int, params: dict[str, Any], result: str, *, is_error: bool = False, name: str = "act"
) -> list[Entry]:
    """A turn with one call."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
    use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": params}
    return [
        {"role": "assistant", "content": [use], "turn": number, "total_ms": 2_000},
        {
            "role": "user",
            "content": [block | ({"is_error": True} if is_error else {})],
            "turn": number,
            "total_ms": 1_500,
        },
    ]


def calls_in(entries: list[Entry]) -> list[Called]:
    """The calls alone."""
    return [step for step in steps_taken(entries) if isinstance(step, Called)]


def test_the_newest_is_first_and_times_are_kept() -> None:
    """Each reply behind its calls."""
    steps = list(steps_taken([ASKED, *called(0, {"a": 1}, "one"), *called(1, {"a": 2}, "two", is_error=True)]))
    assert [type(step) for step in steps] == [Called, Replied, Called, Replied]
    assert [step.total_ms for step in steps if not isinstance(step, Noticed)] == [1_500, 2_000, 1_500, 2_000]
    assert [(call.turn, call.is_error) for call in steps if isinstance(call, Called)] == [(1, True), (0, False)]


def test_a_person_ends_it() -> None:
    """What was done before they wrote is theirs to judge; our own notes end nothing."""
    said = {"role": "user", "content": [{"type": "text", "text": "Go on."}], "turn": 1, "said": True}
    nudge = {"role": "user", "content": [{"type": "text", "text": "Go on."}], "turn": 1}
    assert len(calls_in([*called(0, {}, "x"), said, *called(1, {}, "x")])) == 1
    assert len(calls_in([*called(0, {}, "x"), nudge, *called(1, {}, "x")])) == 2


def test_a_retry_of_a_person_ends_it() -> None:
    """They had the model asked again: the turn has two replies."""
    again = called(1, {}, "x")
    again[0]["turn"] = again[1]["turn"] = 0
    assert len(calls_in([*called(0, {}, "x"), *again])) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("exit code 1 after 0.31 s", "exit code 1 after 12.4 s"),
        ("at 0x7f9c2a10", "at 0x7fffee00"),
        ("commit 1f3e9ab", "commit 99aa00bcd1"),
        ("2026-12-01 10:11:12,123 ERROR", "2026-12-02 01:02:03,999 ERROR"),
        ("pid 12\n  died", "pid 9 died"),
    ],
)
def test_what_differs_by_chance_is_the_same(one: str, other: str) -> None:
    """Times, addresses, numbers and blanks."""
    first, second = calls_in([*called(0, {"c": "x"}, one), *called(1, {"c": "x"}, other)])
    assert first.is_same(second)


def test_what_differs_in_words_is_not() -> None:
    """Another result, another call, or an error where there was none."""
    alike = calls_in([*called(0, {"c": "x  y\n"}, "r"), *called(1, {"c": "x y "}, "r")])
    assert alike[0].is_same(alike[1])
    words = calls_in([*called(0, {"c": "x"}, "no such file"), *called(1, {"c": "x"}, "no such host")])
    assert words[0].is_same_call(words[1])
    assert not words[0].is_same(words[1])
    for other in (
        called(1, {"c": "z"}, "r"),
        called(1, {"c": "x"}, "r", name="b"),
        called(1, {"c": "x"}, "r", is_error=True),
    ):
        first, second = calls_in([*called(0, {"c": "x"}, "r"), *other])
        assert not first.is_same(second)


def test_the_middle_of_long_texts_counts() -> None:
    """They are compared by their ends and a digest."""
    long = "a" * 20_000
    same = calls_in([*called(0, {"c": long}, long), *called(1, {"c": long}, long)])
    assert same[0].is_same(same[1])
    other = calls_in([*called(0, {"c": long}, "r"), *called(1, {"c": f"{long[:10_000]}b{long[10_001:]}"}, "r")])
    assert not other[0].is_same_call(other[1])
    assert len(other[0].params) < 10_000


def test_a_turn_looks_back_so_far() -> None:
    """A task of thousands of turns costs no more than one of hundreds."""
    entries = [entry for number in range(LOOK_BACK) for entry in called(number, {"n": number}, "r")]
    assert len(calls_in(entries)) == LOOK_BACK // 2


def test_a_call_without_a_result_and_a_result_without_a_call_are_left_out() -> None:
    """Half a turn is no step."""
    whole = called(0, {}, "r")
    assert calls_in(whole[:1]) == []
    assert calls_in(whole[1:]) == []
