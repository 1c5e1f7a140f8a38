"""What a task has done since a person spoke to it last, newest first. Pure.

It is read from what is stored, so a recovery neither forgets nor doubles any of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from neuraphage.decide.conversation import final_text
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
        return self.name == other.name and self.params == other.params

    def is_same(self, other: Called) -> bool:
        """Whether both called the same, and came to the same."""
        return self.is_error == other.is_error and self.is_same_call(other) and self.text == other.text


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


def steps_taken(entries: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    """The steps, newest first, back to the last message of a person, or to their retry: the turn then has two replies.

    Args:
        entries: the conversation as stored; what was superseded is in it, since it was done.
    """
    results: dict[str, tuple[Mapping[str, Any], int]] = {}
    replied: int | None = None
    for entry in reversed(entries[-LOOK_BACK:]):
        if entry.get("said"):
            return
        note = entry.get("anomaly")
        if note is not None:
            yield Noticed(int(entry.get("turn", 0)), AnomalyKind(note["kind"]), bool(note["acted"]))
        if entry["role"] == "user":
            for block in entry["content"]:
                if block.get("type") == "tool_result":
                    results[block["tool_use_id"]] = (block, int(entry.get("total_ms", 0)))
            continue
        if entry.get("turn", 0) == replied:
            return
        replied = int(entry.get("turn", 0))
        yield from _called(entry, results)
        yield Replied(int(entry.get("total_ms", 0)))


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
