"""What is assembled piece by piece is what is assembled at once, and what was assembled is not assembled again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraphage.decide import compacted
from neuraphage.decide.assembly import Assembly
from neuraphage.decide.conversation import call_ids, request_messages

Entry = dict[str, Any]
IDS = [f"t{number}" for number in range(4)]
texts = st.sampled_from(["", " ", "word", "two words"]).map(lambda text: {"type": "text", "text": text})


def used(key: str) -> Entry:
    """A reply of one call."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": key, "name": "act", "input": {}}]}


def answer(key: str) -> Entry:
    """The block of its result."""
    return {"type": "tool_result", "tool_use_id": key, "content": "done"}


uses = st.sampled_from(IDS).map(lambda key: used(key)["content"][0])
results = st.sampled_from(IDS).map(answer)
thoughts = st.just({"type": "thinking", "thinking": "hm", "signature": "s"})
replies = st.builds(
    lambda content, stop, back: {"role": "assistant", "content": content, "stop_reason": stop, "back": back},
    st.lists(texts | uses | thoughts, max_size=4),
    st.sampled_from(["end_turn", "end_turn", "refusal"]),
    st.sampled_from([None] * 7 + [1]),
)
retried = st.integers(1, 4).map(lambda back: {"role": "user", "content": [], "back": back})
"""Another try at a reply."""
words = st.builds(lambda content: {"role": "user", "content": content}, st.lists(texts | results, max_size=4))
said = st.just({"role": "assistant", "content": [{"type": "text", "text": "word"}]})
strays = st.just({"role": "user", "content": [answer("of nobody")]})
"""Nothing of it is sent, so its neighbours are one message."""
turns = st.sampled_from(IDS).map(lambda key: [used(key), {"role": "user", "content": [answer(key)]}])
singles = (replies | words | said | strays | retried).map(lambda entry: [entry])
stretches = st.lists(
    st.lists(singles | turns, max_size=3).map(lambda rows: [entry for row in rows for entry in row]),
    min_size=1,
    max_size=6,
)


def superseding(entries: Sequence[Entry]) -> list[Entry]:
    """Entries of which some supersede some of those before them."""
    return [
        {**entry, "supersedes": max(index - entry["back"], 0)} if entry.get("back") and index else entry
        for index, entry in enumerate(entries)
    ]


@settings(max_examples=400)
@given(stretches, st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_grown_conversation_is_assembled_as_a_whole_one(stretches: list[list[Entry]], plain: list[bool]) -> None:
    """After each stretch, whatever it holds and however it is asked for; what was handed out before stays as it was."""
    entries = superseding([entry for stretch in stretches for entry in stretch])
    assembly, count, before = Assembly(), 0, []
    for stretch, is_plain in zip(stretches, plain, strict=False):
        count += len(stretch)
        there = entries[:count]
        assert assembly.request_messages(there, plain=is_plain) == request_messages(there, plain=is_plain)
        found = assembly.request_messages(there)
        assert found == request_messages(there)
        taken = assembly.call_ids(there)
        assert [key for key in IDS if key in taken] == [key for key in IDS if key in call_ids(there)]
        before.append((found, deepcopy(found)))
    assert all(found == copy for found, copy in before)


def turn(number: int) -> list[Entry]:
    """A turn of one call."""
    return [used(f"c{number}"), {"role": "user", "content": [answer(f"c{number}")]}]


def test_what_was_assembled_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred turns cost what the first ones do, each."""
    looked: list[int] = []
    sendable = compacted.sendable

    def counted(entry: Entry, *, plain: bool = False) -> list[Any]:
        looked[-1] += 1
        return sendable(entry, plain=plain)

    monkeypatch.setattr(compacted, "sendable", counted)
    assembly, entries = Assembly(), [{"role": "user", "content": [{"type": "text", "text": "Do it."}]}]
    for number in range(100):
        looked.append(0)
        assembly.request_messages(entries)
        entries = [*entries, *turn(number)]
    assert max(looked) <= 3


def test_behind_another_try_only_what_is_new_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a reply was superseded, all of it is looked at once more; then it grows as before."""
    looked: list[int] = []
    sendable = compacted.sendable

    def counted(entry: Entry, *, plain: bool = False) -> list[Any]:
        looked[-1] += 1
        return sendable(entry, plain=plain)

    monkeypatch.setattr(compacted, "sendable", counted)
    assembly, entries = Assembly(), [{"role": "user", "content": [{"type": "text", "text": "Do it."}]}]
    for number in range(20):
        entries += turn(number)
    entries += [{"role": "assistant", "content": [{"type": "text", "text": "Hm."}]}]
    entries += [{"role": "user", "content": [], "supersedes": len(entries) - 1}]
    for number in range(20, 60):
        looked.append(0)
        assert "Hm." not in str(assembly.request_messages(entries))
        entries = [*entries, *turn(number)]
    assert looked[0] > 40
    assert max(looked[2:]) <= 4


def test_another_conversation_is_assembled_anew() -> None:
    """One that was read again holds other objects, and may be another one."""
    assembly = Assembly()
    first, second = [*turn(0), *turn(1)], [*turn(5), *turn(6), *turn(7)]
    assembly.request_messages(first)
    assembly.call_ids(first)
    assert assembly.request_messages(second) == request_messages(second)
    assert "c0" not in assembly.call_ids(second)
    assert assembly.request_messages(first[:2]) == request_messages(first[:2])
