"""Folds the events of one stream into a reply. Pure: no I/O, no clock.

The raw events are folded here and not by the SDK's accumulator, which drops what it does not know and raises
in mid-stream when the model writes broken tool input. Blocks stay as the API sent them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson

from neuraphage.decide.surrogates import whole_text
from neuraphage.decide.tool_input import MAX_NESTING, InputFault, check_input, parse_input
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.transport_faults import shorten
from neuraphage.model.message import Block
from neuraphage.model.usage import Usage
from neuraphage.ports import Delta

MAX_TOKENS = 10**12
"""Counts over this are none; sums of them would not fit into the server's numbers."""

_USAGE_FIELDS = tuple(Usage.model_fields)
# Delta types that lengthen a text of their block: type -> (field of the delta and the block, viewer's kind).
_TEXT_DELTAS = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking")}


_INPUT = "partial_json"
_CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded"})
# Blocks that can be neither shown nor sent back without their text.
_WITH_TEXT = {"text": "text", "thinking": "thinking"}


class ReplyCollector:
    """The reply so far.

    Attributes:
        content: whole blocks, in order.
        invalid_inputs: tool_use id -> what the model wrote as input, where it cannot be used.
        stop_reason: set by message_delta.
        stopped: whether message_stop came.
    """

    def __init__(self, on_delta: Callable[[Delta], None]) -> None:
        self._on_delta = on_delta
        self._usage: dict[str, int] = {}
        self._open: dict[int, Block] = {}
        # Pieces are joined once: to lengthen a text with each of them would copy it each time.
        self._pieces: dict[int, dict[str, list[str]]] = {}
        self._unwritten: str | None = None  # id of the last block, while it is a call without input
        self.content: list[Block] = []
        self.invalid_inputs: dict[str, str] = {}
        self.stop_reason: str | None = None
        self.model = ""
        self.message_id = ""
        self.started = False
        self.stopped = False

    @property
    def usage(self) -> Usage:
        """Tokens as last told: counts of message_delta are totals and replace those of message_start."""
        return Usage(**self._usage)

    def take(self, event: Any) -> None:
        """Take one event's data.

        Raises:
            ModelFault: GARBAGE, when the event is not what the API documents.
        """
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise _garbage("an event without a type", event)
        kind = event["type"]
        # Types that this release does not know are passed over: the API's rules say that new ones may come.
        step = _STEPS.get(kind)
        if step is None:
            return
        if kind != "message_start" and not self.started:
            raise _garbage("an event before message_start", event)
        try:
            step(self, event)
        except (KeyError, TypeError, AttributeError) as error:
            raise _garbage(f"a {kind} event with a missing or misshapen field ({error!r})", event) from None

    def _message_start(self, event: dict[str, Any]) -> None:
        message = event["message"]
        self.started = True
        self.model = whole_text(message.get("model") or "")
        self.message_id = whole_text(message.get("id") or "")
        self._count(message.get("usage"))

    def _block_start(self, event: dict[str, Any]) -> None:
        index, block = event["index"], dict(event["content_block"])
        if index in self._open or index != len(self.content) + len(self._open) or not isinstance(block["type"], str):
            raise _garbage("a block out of order or without a type", event)
        self._open[index] = block
        self._pieces[index] = {}
        if block["type"] == "tool_use":
            if not isinstance(block["id"], str) or not isinstance(block["name"], str):
                raise _garbage("a tool_use block without id and name", event)
            self._on_delta(Delta("tool", block["name"]))

    def _block_delta(self, event: dict[str, Any]) -> None:
        index, delta = event["index"], event["delta"]
        block, kind = self._open[index], delta["type"]
        if kind in _TEXT_DELTAS:
            field, shown = _TEXT_DELTAS[kind]
            self._append(index, field, delta[field])
            self._on_delta(Delta(shown, delta[field]))
        elif kind == "signature_delta":
            block["signature"] = delta["signature"]
        elif kind == "input_json_delta":
            self._append(index, _INPUT, delta["partial_json"])
        elif kind == "citations_delta":
            block["citations"] = block.get("citations") or []
            block["citations"].append(delta["citation"])

    def _append(self, index: int, field: str, piece: Any) -> None:
        if not isinstance(piece, str):
            raise TypeError(f"a piece of {field} is {type(piece).__name__}, not text")
        self._pieces[index].setdefault(field, []).append(piece)

    def _block_stop(self, event: dict[str, Any]) -> None:
        index = event["index"]
        if index != len(self.content):
            raise _garbage("a block that ends out of order", event)
        block, pieces = self._open.pop(index), self._pieces.pop(index)
        raw = "".join(pieces.pop(_INPUT, ()))
        for field, parts in pieces.items():
            block[field] = "".join((block.get(field) or "", *parts))
        self._unwritten = None
        if raw.strip() or block["type"] == "tool_use":
            self._take_input(block, whole_text(raw), str(block.get("id", index)))
        self.content.append(_whole(block, event))

    def _take_input(self, block: Block, raw: str, key: str) -> None:
        """Give a call its parsed input; one that cannot be stored and sent back is kept apart, and its call empty."""
        given = block.get("input")
        if raw.strip():
            parsed = parse_input(raw)
        else:  # in one piece with the first event, or left out
            parsed = check_input({} if given is None else given)
            self._unwritten = None if parsed else key
        if isinstance(parsed, InputFault):
            self.invalid_inputs[key] = raw if raw.strip() else _as_text(given)
            parsed = {}
        block["input"] = parsed

    def _message_delta(self, event: dict[str, Any]) -> None:
        reason = event["delta"].get("stop_reason")
        if reason is not None:
            self.stop_reason = whole_text(str(reason))
        if self.stop_reason in _CUT_SHORT and self._unwritten is not None:
            # Cut off before its first piece: that the model wanted no parameters would be a guess.
            self.invalid_inputs[self._unwritten] = ""
        self._count(event.get("usage"))

    def _message_stop(self, event: dict[str, Any]) -> None:
        if self.stop_reason in _CUT_SHORT:  # some servers do not end the block that the limit cut
            for index in sorted(self._open):
                self._block_stop({"index": index})
        if self._open:
            raise _garbage(f"message_stop while blocks {sorted(self._open)} are open", event)
        self.stopped = True

    def _count(self, usage: Any) -> None:
        by_life = usage.get("cache_creation") if isinstance(usage, dict) else None
        for_an_hour = by_life.get("ephemeral_1h_input_tokens") if isinstance(by_life, dict) else None
        if type(for_an_hour) is int and 0 <= for_an_hour <= MAX_TOKENS:
            self._usage["cache_creation_1h_tokens"] = for_an_hour
        for name in _USAGE_FIELDS:
            value = usage.get(name) if isinstance(usage, dict) else None
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS:
                self._usage[name] = value


_STEPS: dict[str, Callable[[ReplyCollector, dict[str, Any]], None]] = {
    "message_start": ReplyCollector._message_start,
    "content_block_start": ReplyCollector._block_start,
    "content_block_delta": ReplyCollector._block_delta,
    "content_block_stop": ReplyCollector._block_stop,
    "message_delta": ReplyCollector._message_delta,
    "message_stop": ReplyCollector._message_stop,
}


def _as_text(given: Any) -> str:
    """An input that came parsed, as the text that the model would have written."""
    try:
        return json.dumps(given)
    except RecursionError:
        return '{"":' * MAX_NESTING + "{}" + "}" * MAX_NESTING


def _whole(block: Block, event: Any) -> Block:
    """A finished block, with text that can be stored.

    Raises:
        ModelFault: GARBAGE, when its text is missing, or when it holds what cannot be stored.
    """
    name = _WITH_TEXT.get(block["type"])
    if name is not None and not isinstance(block.get(name), str):
        raise _garbage(f"a {name} block without text", event)
    try:
        clean: Block = _clean(block)
        orjson.dumps(clean)
    except (TypeError, RecursionError) as error:
        raise _garbage(f"a {block['type']} block that cannot be stored ({error})", event) from None
    return clean


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(name): _clean(item) for name, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _garbage(what: str, event: Any) -> ModelFault:
    return ModelFault(FaultKind.GARBAGE, f"the stream held {what}: {shorten(repr(event))}")
