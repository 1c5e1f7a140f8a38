"""Puts the pieces of streamed tool calls together, as OpenAI sends them and as other servers do. Pure.

By the API's documentation a call has an `index`, and its first piece alone an id and a name. In the wild: every call
has index 0, or none; the id comes with every piece, late, empty or not at all; the name comes with every piece or in
pieces; arguments come as an object; and a call that is whole comes once more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neuraphage.decide.surrogates import whole_text
from neuraphage.decide.tool_input import InputFault, parse_input
from neuraphage.model.message import Block


@dataclass(slots=True)
class CallParts:
    """A call so far.

    Args:
        index: what the server says its place is.
        call_id: its id, empty while there is none.
        name: of the function.
        arguments: pieces of its JSON.
    """

    index: int | None
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def raw(self) -> str:
        """Its arguments so far."""
        return "".join(self.arguments)

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are a JSON object already."""
        return isinstance(parse_input(self.raw), dict)


class CallAssembly:
    """The calls of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self.calls: list[CallParts] = []

    def take(self, piece: Mapping[str, Any]) -> str | None:
        """Take one element of `delta.tool_calls`.

        Returns:
            The name of a call that begins with it.

        Raises:
            TypeError, AttributeError: it is not of the API's shape.
        """
        function = piece.get("function") or {}
        call_id, name = _text(piece.get("id")), _text(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        index = piece.get("index")
        known = self._known(index if isinstance(index, int) else None, call_id, name, arguments)
        if known is None:
            begun = CallParts(index if isinstance(index, int) else None, call_id, name, [arguments])
            self.calls.append(begun)
            return name or None
        if name and known.name and call_id and known.call_id == call_id and known.is_whole:
            return None  # the whole call once more
        known.call_id = known.call_id or call_id
        begins = bool(name) and not known.name
        if name != known.name and not known.raw:  # a name in pieces; else the same one with each piece
            known.name += name
        known.arguments.append(arguments)
        return known.name if begins else None

    def _known(self, index: int | None, call_id: str, name: str, arguments: str) -> CallParts | None:
        """The call that a piece goes on with; None where it begins one."""
        same_place = [call for call in self.calls if call.index == index]
        if not same_place:
            # without an index of its own, a piece without a name or an id can only belong to the last call
            return self.calls[-1] if self.calls and index is None and not (call_id or name) else None
        last = same_place[-1]
        if call_id and last.call_id and call_id != last.call_id:
            return next((call for call in same_place if call.call_id == call_id), None)
        return None if not call_id and _is_another(last, name, arguments) else last


def _is_another(last: CallParts, name: str, arguments: str) -> bool:
    """Whether a piece without an id begins a call of its own, where the one before it has the same place."""
    if not name or not last.name or not arguments.strip():
        return False
    return last.is_whole if name == last.name else True


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, int) and not isinstance(value, bool):  # some servers count their ids
        return str(value)
    raise TypeError(f"an id or a name is {type(value).__name__}, not text")


def _arguments(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return json.dumps(value)
    raise TypeError(f"arguments are {type(value).__name__}, not text")


def tool_blocks(calls: list[CallParts], invalid: dict[str, str], *, cut: bool) -> list[Block]:
    """The calls as blocks of the Messages API, under ids that are unique within the reply.

    Args:
        calls: in order.
        invalid: gets, by id, the arguments that cannot be used; such a block has an empty input.
        cut: whether the reply was broken off, so that a last call without arguments is no call without parameters.
    """
    blocks: list[Block] = []
    taken: set[str] = set()
    for number, call in enumerate(calls):
        call_id = call.call_id or f"call-{number}"
        if call_id in taken:
            call_id = f"{call_id}-{number}"
        taken.add(call_id)
        raw = whole_text(call.raw)
        parsed = parse_input(raw) if raw.strip() else {}
        if isinstance(parsed, InputFault) or (cut and number == len(calls) - 1 and not raw.strip()):
            invalid[call_id] = raw
            parsed = {}
        blocks.append({"type": "tool_use", "id": call_id, "name": call.name, "input": parsed})
    return blocks
