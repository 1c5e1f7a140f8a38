"""What replies come to: the whole table, and the counts over stored conversations."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.blank import is_blank
from neuraphage.decide.replies import (
    ENDS,
    Held,
    ReplyEnd,
    Stop,
    Streak,
    end_of,
    has_words,
    stop_of,
    streak,
    unfinished_call,
    why_failed,
)
from neuraphage.model.message import StopReason

CALL = {"type": "tool_use", "id": "t1", "name": "act", "input": {}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def said(stop_reason: str | None, turn: int, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content), "stop_reason": stop_reason, "turn": turn}


def test_the_table_is_whole() -> None:
    """Every way to stop has a row for whatever the reply holds, and every documented reason is known."""
    assert set(ENDS) == {(stop, held) for stop in Stop for held in Held}
    assert Stop.UNKNOWN not in {stop_of(reason.value) for reason in StopReason}


def test_only_a_natural_end_with_words_is_an_end() -> None:
    """The safety row by hand: nothing else completes a task by itself."""
    assert [row for row, end in ENDS.items() if end is ReplyEnd.REST] == [(Stop.NATURAL, Held.WORDS)]


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence"])
@pytest.mark.parametrize(
    "content", [[], [text("")], [text(" \n")], [THOUGHT], [text("\u2060")], [text("(No content)")]]
)
def test_no_words_are_no_end(reason: str, content: list[dict[str, Any]]) -> None:
    """Whatever a provider sends in place of nothing."""
    assert end_of(content, reason) is ReplyEnd.ASK_AGAIN


@pytest.mark.parametrize("reason", [None, "", "stop", "length", "tool_calls", "pause_run"])
def test_reasons_of_others_are_unknown(reason: str | None) -> None:
    """Servers spell reasons in their own ways, or leave them out: none of them is taken for a natural end."""
    assert end_of([text("Done.")], reason) is ReplyEnd.FAIL


@pytest.mark.parametrize(
    ("words", "blank"),
    [
        ("", True),
        (" \t\n\u00a0\u2003", True),
        ("\u200b\u200d\ufeff\u00ad", True),
        ("\0", True),
        (".", False),
        ("0", False),
    ],
)
def test_blank_texts(words: str, blank: bool) -> None:
    """White space of every alphabet, and what has no form of its own."""
    assert is_blank(words) is blank


def test_a_block_of_text_without_text_says_nothing() -> None:
    """A null field of an odd server."""
    assert not has_words([{"type": "text", "text": None}, {"type": "text"}])


def test_the_streak_ends_at_what_was_brought_to_an_end() -> None:
    """Only the replies behind the last one with a whole call, or an end, count."""
    user = {"role": "user", "content": [text("Go on.")], "turn": 0}
    entries = [
        said("max_tokens", 0, text("a")), said("tool_use", 1, CALL), said("max_tokens", 2, CALL), user,
        said("end_turn", 3), said("pause_turn", 4, text("b")), user,
    ]  # fmt: skip
    assert streak(entries) == Streak(cut=2, empty=1)
    assert streak([]) == streak([user]) == streak([said("end_turn", 0, text("Done."))]) == Streak(0, 0)


def test_a_retry_begins_the_streak_anew() -> None:
    """A failed turn is not counted, so two replies of one turn have a person's retry between them."""
    assert streak([said("end_turn", 0), said("end_turn", 1), said("end_turn", 1)]) == Streak(cut=0, empty=1)


@pytest.mark.parametrize(
    ("content", "cut"),
    [([CALL], "t1"), ([text("a"), CALL], "t1"), ([CALL, text("")], "t1"), ([CALL, text("b")], None), ([], None)],
)
def test_what_a_reply_broke_off_in(content: list[dict[str, Any]], cut: str | None) -> None:
    """The last call, when nothing to read stands behind it; of a reply that came to its end, none."""
    assert unfinished_call(content, "max_tokens") == unfinished_call(content, "length") == cut
    assert unfinished_call(content, "tool_use") is None


@pytest.mark.parametrize("reason", [*[reason.value for reason in StopReason], "other", None])
def test_every_failure_says_what_to_do(reason: str | None) -> None:
    """The reason by its name, and that a retry is possible."""
    told = why_failed(reason, Streak(cut=11, empty=0), end_of([], reason))
    assert "retry" in told.lower()
