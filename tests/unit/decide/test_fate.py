"""What became of a prompt, as its history tells it."""

from __future__ import annotations

import pytest

from neuraphage.decide.fate import Fate, fate_of
from neuraphage.model.event import Event

ASKED = Event(kind="UserInputNeeded", data={"prompts": [{"id": "aaaa1111", "kind": "permission"}, {"id": "p1"}]})
ANSWERED = Event(
    kind="AnswerReceived", data={"prompt": "aaaa1111", "by": "user", "who": "anna", "answer": "yes"}, at_ms=1_000
)
TAKEN = Event(kind="PermissionGranted", data={"prompt": "aaaa1111", "answer": "yes: in words"}, at_ms=2_000)
TIMED_OUT = Event(kind="AnswerReceived", data={"prompt": "aaaa1111", "by": "timeout"}, at_ms=1_000)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([ASKED, ANSWERED], "anna answered yes at 1970-01-01 00:00:01 UTC"),
        ([ASKED, ANSWERED, ASKED], "anna answered yes at"),
        ([ANSWERED], "anna answered yes at"),
        ([ASKED, ANSWERED, TAKEN], "anna answered yes: in words at 1970-01-01 00:00:01 UTC"),
        ([ASKED, TIMED_OUT], "nobody had answered it in time, so it counted as no at"),
        (
            [ASKED, Event(kind="ReplySuperseded", data={"prompt": "aaaa1111", "by": "user", "who": "anna"}, at_ms=1)],
            "anna answered /retry at",
        ),
        ([ASKED, Event(kind="TaskFailed")], "closed before anybody had answered"),
        ([ASKED, Event(kind="AnswerReceived", data={"prompt": "aaaa1111"})], "user answered it at"),
    ],
)
def test_it_is_told_in_words(events: list[Event], words: str) -> None:
    """Also by a release that kept no answers and no names."""
    for part in ("aaaa1111", "aaaa"):
        assert words in str(fate_of(events, part))


def test_what_was_never_asked_has_none() -> None:
    """Nor has a beginning that is too short to name one; a whole id that is short is one."""
    assert fate_of([ASKED, ANSWERED], "bbbb") is None
    assert fate_of([ASKED, ANSWERED], "aaa") is None
    assert fate_of([ASKED, ANSWERED], "p1") == Fate()
