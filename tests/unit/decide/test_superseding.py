"""Which entries another try at the model's last reply takes the place of."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraphage.decide.conversation import CONTINUE_TEXT, api_messages, visible
from neuraphage.decide.replies import NUDGE_EMPTY, NUDGE_NO_CALL
from neuraphage.decide.superseding import last_reply, superseded, superseding

Message = dict[str, Any]


def said(role: str, text: str, turn: int = 0) -> Message:
    """An entry of words."""
    return {"role": role, "content": [{"type": "text", "text": text}], "turn": turn}


def called(key: str, name: str = "write_file", text: str = "", turn: int = 0) -> list[Message]:
    """A reply with a call, and its result."""
    words = [{"type": "text", "text": text}] if text else []
    call = {"type": "tool_use", "id": key, "name": name, "input": {}}
    result = {"type": "tool_result", "tool_use_id": key, "content": "done"}
    return [
        {"role": "assistant", "content": [*words, call], "turn": turn},
        {"role": "user", "content": [result], "turn": turn},
    ]


ASKED, REPLY = said("user", "Do it."), said("assistant", "Hm.")
PARTED = [said("assistant", "One,", 4), said("user", CONTINUE_TEXT, 4), said("assistant", "two.", 5)]
AGAIN = superseding(1, 1).model_dump(by_alias=True)


@pytest.mark.parametrize(
    ("entries", "first"),
    [
        ([ASKED], None),
        ([], None),
        ([ASKED, REPLY], 1),
        ([ASKED, REPLY, said("user", "and now?", 1), said("assistant", "So.", 1)], 3),
        ([ASKED, REPLY, said("user", "and now?", 1)], None),
        ([ASKED, REPLY, REPLY], 1),
        # what tools did stays known, and so does what was said beside their calls
        ([ASKED, *called("t1")], None),
        ([ASKED, *called("t1", text="I write it."), REPLY], 3),
        ([ASKED, *called("t1", "ask_user"), *called("t2", "fail_task")], None),
        # parts of one reply, and what we said between them
        ([ASKED, *PARTED], 1),
        ([ASKED, *called("t1"), *PARTED], 3),
        ([ASKED, said("assistant", "", 4), said("user", NUDGE_EMPTY, 4), REPLY], 1),
        ([ASKED, said("assistant", "I call", 4), said("user", NUDGE_NO_CALL, 4), REPLY], 1),
        ([ASKED, REPLY, said("user", CONTINUE_TEXT, 1), REPLY], 3),  # of a person: it is of another turn
        ([said("user", CONTINUE_TEXT), REPLY], 1),
        # a call that only ended the task
        ([ASKED, *called("t1", "complete_task")], 1),
        ([ASKED, *called("t1", "complete_task"), REPLY], 1),
        ([ASKED, *called("t1"), *called("t2", "complete_task")], 3),
        ([ASKED, called("t1")[0], called("t2", "complete_task")[1]], None),
        # once more
        ([ASKED, REPLY, AGAIN], None),
        ([ASKED, REPLY, AGAIN, REPLY], 3),
    ],
)
def test_where_the_last_reply_begins(entries: list[Message], first: int | None) -> None:
    """Behind the last message of a person, note, or result of a tool."""
    assert last_reply(entries) == first


pieces = st.sampled_from([[ASKED], [REPLY], PARTED, [said("user", "[working directory lost] it is gone", 3)]])
calls = st.tuples(st.integers(0, 10**6), st.sampled_from(["write_file", "complete_task"])).map(
    lambda drawn: called(f"t{drawn[0]}", drawn[1])
)


@settings(max_examples=300)
@given(st.lists(pieces | calls, max_size=7).map(lambda rows: [entry for row in rows for entry in row]))
def test_nothing_but_words_and_ends_is_hidden(entries: list[Message]) -> None:
    """No call is parted from its result, no call with an effect and no word of a person goes, and nothing is left of
    the reply, so that another try has nothing to take the place of."""
    first = last_reply(entries)
    if first is None:
        return
    stored = [*entries, superseding(first, 9).model_dump(by_alias=True)]
    assert superseded(stored) == set(range(first, len(entries)))
    hidden = [block for entry in entries[first:] for block in entry["content"]]
    assert {block.get("name", "complete_task") for block in hidden} == {"complete_task"}
    by_user = [str(entry) for entry in entries[first:] if entry["role"] == "user"]
    assert all(CONTINUE_TEXT in text or "tool_result" in text for text in by_user)
    sent = api_messages(stored)
    assert "interrupted" not in str(sent)
    assert last_reply(stored) is None
    assert all(entry in visible(stored) for entry in entries[:first])


def test_what_hides_a_reply_says_nothing() -> None:
    """The model is asked as it was asked before."""
    assert api_messages([ASKED, REPLY, AGAIN]) == api_messages([ASKED])
