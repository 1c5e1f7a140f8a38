"""What a task has done since a person spoke to it last, newest first. Pure.

It is read from what is stored, so a recovery neither forgets nor doubles any of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from neuraphage.decide.conversation import begins_with, final_text
from neuraphage.decide.hashing import canonical, sha256_hex
from neuraphage.model.anomaly import AnomalyKind

LOOK_BACK = 400
"""Most entries that are looked at: a bound of what a turn costs, far above every limit of a count."""
_TEXT_CHARS = 4_000
"""Of each end of a long text are compared letter for letter; of what is between them its digest."""
_VARYING = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,}\b|\d+(?:[.:,]\d+)*", re.IGNORECASE)
"""Addresses, digests, times, process ids, durations: they differ between two runs that came to the same."""


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply of the model.

    Args:
        total_ms: how long it took.
    """

    total_ms: int


@dataclass(frozen=True)
class Called:
    """A call of a tool that is over. What is compared of it is made when it is asked for: results may be long.

    Args:
        turn: in which it was made.
        name: of the tool.
        given: its parameters.
        result: its block.
        total_ms: how long it took, where that was long.
    """

    turn: int
    name: str
    given: Mapping[str, Any]
    result: Mapping[str, Any]
    total_ms: int

    @cached_property
    def is_error(self) -> bool:
        """Whether it failed."""
        return bool(self.result.get("is_error"))

    @cached_property
    def params(self) -> str:
        """Its parameters as JSON, blanks folded."""
        return _folded(_ends(canonical(self.given).decode()))

    @cached_property
    def text(self) -> str:
        """Its result, without what differs between two runs that came to the same."""
        content = self.result.get("content") or ""
        text = content if isinstance(content, str) else final_text(content)
        return _folded(_VARYING.sub("#", _ends(text)))

    def is_same_call(self, other: Called) -> bool:
        """Whether both called the same."""
        return self is other or (self.name == other.name and self.params == other.params)

    def is_same(self, other: Called) -> bool:
        """Whether both called the same, and came to the same."""
        return self is other or (
            self.is_error == other.is_error and self.is_same_call(other) and self.text == other.text
        )


@dataclass(frozen=True, slots=True)
class Noticed:
    """An anomaly was told of.

    Args:
        turn: in which.
        kind: what it is about.
        acted: whether its limit was reached.
    """

    turn: int
    kind: AnomalyKind
    acted: bool


Step = Replied | Called | Noticed


@dataclass(frozen=True, slots=True)
class Stretch:
    """The steps of some entries that follow one another, for others to be put behind or before them.

    Args:
        steps: newest first, each with the number of its entry.
        is_cut: whether a person spoke in it, or had a turn done again: nothing before that counts.
        newest_turn, oldest_turn: of its replies; None where it has none.
        after_reply: how many of its steps came after the newest reply.
    """

    steps: tuple[tuple[int, Step], ...] = ()
    is_cut: bool = False
    newest_turn: int | None = None
    oldest_turn: int | None = None
    after_reply: int = 0

    def after(self, older: Stretch) -> Stretch:
        """Both as one, this one being the newer."""
        if self.is_cut:
            return self
        newest = older.newest_turn if self.newest_turn is None else self.newest_turn
        after_reply = len(self.steps) + older.after_reply if self.newest_turn is None else self.after_reply
        if older.newest_turn is not None and older.newest_turn == self.oldest_turn:  # the turn was done again
            steps = self.steps + older.steps[: older.after_reply]
            return Stretch(steps, True, newest, self.oldest_turn, after_reply)
        oldest = self.oldest_turn if older.oldest_turn is None else older.oldest_turn
        return Stretch(self.steps + older.steps, older.is_cut, newest, oldest, after_reply)


def stretch(entries: Sequence[Mapping[str, Any]], first: int = 0) -> Stretch:
    """The steps of entries, back to the last message of a person, or to their retry: the turn then has two replies.

    Args:
        entries: of the conversation as stored; what was superseded is in it, since it was done.
        first: number of the first of them.
    """
    results: dict[str, tuple[Mapping[str, Any], int]] = {}
    steps: list[tuple[int, Step]] = []
    newest: int | None = None
    replied: int | None = None
    after_reply = 0
    is_cut = False
    for number in range(len(entries) - 1, -1, -1):
        entry, at = entries[number], first + number
        if entry.get("said"):
            is_cut = True
            break
        note = entry.get("anomaly")
        if note is not None:
            steps.append((at, Noticed(int(entry.get("turn", 0)), AnomalyKind(note["kind"]), bool(note["acted"]))))
        if entry["role"] == "user":
            for block in entry["content"]:
                if block.get("type") == "tool_result":
                    results[block["tool_use_id"]] = (block, int(entry.get("total_ms", 0)))
            continue
        if entry.get("turn", 0) == replied:
            is_cut = True
            break
        replied = int(entry.get("turn", 0))
        if newest is None:
            newest, after_reply = replied, len(steps)
        steps.extend((at, call) for call in _called(entry, results))
        steps.append((at, Replied(int(entry.get("total_ms", 0)))))
    return Stretch(tuple(steps), is_cut, newest, replied, after_reply)


def steps_taken(entries: Sequence[Mapping[str, Any]]) -> list[Step]:
    """The steps of a conversation, newest first, as `stretch` has them."""
    return [step for _, step in stretch(entries[-LOOK_BACK:]).steps]


class StepHistory:
    """The steps of a conversation that grows: what is stored is looked at once, and what is made of it is kept.

    It answers for any entries; it spares work where they begin with the very entry objects that it has seen.
    """

    def __init__(self) -> None:
        self._seen = Stretch()
        self._count = 0
        self._last: Mapping[str, Any] | None = None

    def see(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Look at what is stored, up to the last reply: its calls may have no results yet."""
        self._begin_anew_unless_known(entries)
        upto = next((at for at in range(len(entries) - 1, self._count, -1) if entries[at]["role"] == "assistant"), 0)
        if upto <= self._count:
            return
        seen = self._stretch(entries[:upto])
        self._seen = replace(seen, steps=tuple(step for step in seen.steps if step[0] >= upto - LOOK_BACK))
        self._count, self._last = upto, entries[upto - 1]

    def steps(self, entries: Sequence[Mapping[str, Any]]) -> list[Step]:
        """As `steps_taken`."""
        self._begin_anew_unless_known(entries)
        first = len(entries) - LOOK_BACK
        return [step for at, step in self._stretch(entries).steps if at >= first]

    def _stretch(self, entries: Sequence[Mapping[str, Any]]) -> Stretch:
        first = max(self._count, len(entries) - LOOK_BACK)
        return stretch(entries[first:], first).after(self._seen)

    def _begin_anew_unless_known(self, entries: Sequence[Mapping[str, Any]]) -> None:
        if not begins_with(entries, self._count, self._last):
            self._seen, self._count, self._last = Stretch(), 0, None


def _called(entry: Mapping[str, Any], results: dict[str, tuple[Mapping[str, Any], int]]) -> Iterator[Called]:
    for block in reversed(entry["content"]):
        found = results.pop(block["id"], None) if block.get("type") == "tool_use" else None
        if found is not None:
            yield Called(int(entry.get("turn", 0)), block["name"], block["input"], *found)


def _folded(text: str) -> str:
    """A text with one blank for each run of them, also of those that JSON spells."""
    for blank in ("\\n", "\\r", "\\t"):
        text = text.replace(blank, " ")
    return " ".join(text.split())


def _ends(text: str) -> str:
    """A long text by its ends and its digest."""
    if len(text) <= 2 * _TEXT_CHARS:
        return text
    return f"{text[:_TEXT_CHARS]}{sha256_hex(text)}{text[-_TEXT_CHARS:]}"
