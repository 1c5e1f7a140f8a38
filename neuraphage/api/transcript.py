"""What a task's conversation says about its calls and replies, read as a view needs it.

Events are small: they name a call, the conversation holds it. Both are written in one commit, so what an event
names is there when the event is seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuraphage.decide.attachments import label
from neuraphage.decide.known_files import KnownFiles
from neuraphage.model.tool_traits import ToolTraits

Read = Callable[[int], Sequence[Mapping[str, Any]]]
"""Stored entries from a number on."""
TraitsOf = Callable[[str], ToolTraits]
"""What is known of a tool by its name; of an unknown one that it has no traits."""


@dataclass(frozen=True)
class Call:
    """A tool call.

    Args:
        tool: its name.
        params: as stored.
        before: for a change: content of the file before it, if the conversation tells.
    """

    tool: str
    params: Mapping[str, Any]
    before: str | None = None


@dataclass(frozen=True)
class Result:
    """What a call came to: the text that the model gets."""

    text: str
    is_error: bool


class Transcript:
    """The conversation of one task, read once and then only where it has grown.

    Args:
        read: reads entries.
        traits_of: what is known of a tool.
    """

    def __init__(self, read: Read, traits_of: TraitsOf) -> None:
        self._read = read
        self._traits_of = traits_of
        self._next = 0
        self._calls: dict[str, Call] = {}
        self._results: dict[str, Result] = {}
        self._replies: deque[Sequence[Mapping[str, Any]]] = deque()
        self._files = KnownFiles()

    def call(self, call_id: str) -> Call | None:
        """A call by its tool_use id; None when the conversation does not hold it."""
        if call_id not in self._calls:
            self._grow()
        return self._calls.get(call_id)

    def take_result(self, call_id: str) -> Result | None:
        """The result of a call, once."""
        if call_id not in self._results:
            self._grow()
        self._calls.pop(call_id, None)
        return self._results.pop(call_id, None)

    def take_reply(self) -> Sequence[Mapping[str, Any]]:
        """Content blocks of the next reply of the model; empty when there is none."""
        if not self._replies:
            self._grow()
        return self._replies.popleft() if self._replies else ()

    def restart(self) -> None:
        """Begin anew, as the conversation was archived."""
        self._next = 0
        self._replies.clear()
        self._files = KnownFiles()

    def skip(self) -> None:
        """Take in what is there, and give none of its replies."""
        self._grow()
        self._replies.clear()

    def _grow(self) -> None:
        entries = self._read(self._next)
        self._next += len(entries)
        for entry in entries:
            content = entry["content"]
            if entry["role"] == "assistant":
                self._replies.append(content)
            for block in content:
                if block.get("type") == "tool_use":
                    self._note_call(block)
                elif block.get("type") == "tool_result":
                    self._note_result(block)

    def _note_call(self, block: Mapping[str, Any]) -> None:
        tool, params = str(block["name"]), block.get("input") or {}
        change = self._traits_of(tool).change
        before = None if change is None else self._files.before(str(params.get(change.path, "")))
        self._calls[block["id"]] = Call(tool, params, before)
        if change is not None:
            self._files.called(change, params)

    def _note_result(self, block: Mapping[str, Any]) -> None:
        call_id, text = block["tool_use_id"], _text_of(block.get("content"))
        is_error = bool(block.get("is_error"))
        self._results[call_id] = Result(text, is_error)
        call = self._calls.get(call_id)
        if call is None:
            return
        traits = self._traits_of(call.tool)
        if traits.shows is not None and not is_error:
            self._files.was_read(traits.shows, call.params, text)
        elif traits.change is not None and is_error:
            self._files.forget(str(call.params.get(traits.change.path, "")))


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", label(block))) for block in content or ())
