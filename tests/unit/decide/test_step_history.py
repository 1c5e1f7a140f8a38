"""The history of steps that is kept from turn to turn says what a look at the whole conversation says."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from test_steps_taken import ASKED, called

from neuraphage.decide import steps_taken as module
from neuraphage.decide.steps_taken import LOOK_BACK, StepHistory, steps_taken

Entry = dict[str, Any]


@st.composite
def turns(draw: st.DrawFn, number: int) -> list[Entry]:
    """What one turn may add: replies with calls and results, notes, words of a person, and what is done again."""
    turn = draw(st.sampled_from([number, max(0, number - 1)]))
    count = draw(st.integers(0, 3))
    uses = [
        {"type": "tool_use", "id": f"t{number}-{at}", "name": "act", "input": {"a": draw(st.integers(0, 2))}}
        for at in range(count)
    ]
    found: list[Entry] = [{"role": "assistant", "content": uses, "turn": turn, "total_ms": draw(st.integers(0, 9))}]
    for at in range(draw(st.integers(0, count))):
        block = {"type": "tool_result", "tool_use_id": f"t{number}-{at}", "content": draw(st.sampled_from("xy"))}
        found.append({"role": "user", "content": [block], "turn": turn})
    more = draw(st.sampled_from(["", "", "said", "note"]))
    if more == "said":
        found.append({"role": "user", "content": [], "turn": turn, "said": True})
    if more == "note":
        note = {"kind": "same_call", "acted": draw(st.booleans())}
        found.append({"role": "user", "content": [], "turn": turn, "anomaly": note})
    return found


@given(st.data())
def test_it_says_what_the_whole_says(data: st.DataObject) -> None:
    """At each step of each turn, also when a process meets the entries of a turn again as other objects."""
    history, stored = StepHistory(), [ASKED]
    for number in range(data.draw(st.integers(1, 8))):
        history.see(stored)
        added = data.draw(turns(number))
        for upto in range(len(added) + 1):
            now = [*stored, *added[:upto]]
            assert history.steps(now) == steps_taken(now)
        stored = [*stored, *(dict(entry) for entry in added)]  # as they read back
        if data.draw(st.booleans()):
            history.see(stored)


@given(st.data())
def test_it_answers_for_any_conversation(data: st.DataObject) -> None:
    """One that does not begin as the one that it has seen is looked at whole."""
    history = StepHistory()
    for _ in range(3):
        entries = [entry for number in range(data.draw(st.integers(0, 4))) for entry in data.draw(turns(number))]
        history.see(entries)
        assert history.steps(entries) == steps_taken(entries)


def test_a_long_one_is_looked_at_once() -> None:
    """Beyond the bound nothing is kept, and what is kept are the same calls in the next turn."""
    history, entries = StepHistory(), [ASKED]
    for number in range(LOOK_BACK):
        entries += called(number, {"a": number}, "x")
        history.see(entries)
        if number > LOOK_BACK - 5:
            assert history.steps(entries) == steps_taken(entries)
    first = history.steps(entries)
    entries += called(LOOK_BACK, {"a": 0}, "x")
    again = {id(step) for step in history.steps(entries)}
    assert len([step for step in first if id(step) in again]) > LOOK_BACK / 2
    assert len(history._seen.steps) <= 2 * module.LOOK_BACK
