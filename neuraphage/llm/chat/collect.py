"""Folds the chunks of one Chat Completions stream into a reply in the form of the Messages API. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuraphage.decide.model_ids import ModelId, split_model
from neuraphage.decide.surrogates import whole_text
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.chat.tool_calls import CallAssembly, tool_blocks
from neuraphage.llm.transport_faults import shorten
from neuraphage.model.capacity import ToldLimits
from neuraphage.model.message import Block, StopReason
from neuraphage.model.usage import Usage
from neuraphage.ports import Delta

DONE = "[DONE]"
"""Ends a stream; it stands in the place of a chunk's data."""
MAX_TOKENS = 10**12
"""Counts over this are none; sums of them would not fit into the server's numbers."""

_REASONING = ("reasoning_content", "reasoning")
"""Two names of one thing; a server that sends both sends it twice."""
_STOP_REASONS = {
    "stop": StopReason.END_TURN,
    "eos": StopReason.END_TURN,
    "eos_token": StopReason.END_TURN,
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "length": StopReason.MAX_TOKENS,
    "max_tokens": StopReason.MAX_TOKENS,
    "tool_calls": StopReason.TOOL_USE,
    "tool_use": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.REFUSAL,
}
_FAULTS = {
    "error": FaultKind.SERVER_ERROR,
    "abort": FaultKind.SERVER_ERROR,
    "cancelled": FaultKind.SERVER_ERROR,
    "insufficient_system_resource": FaultKind.OVERLOADED,
}
"""Reasons that say that the reply was not finished."""


class ChatCollector:
    """The reply so far.

    Args:
        on_delta: gets pieces as they come.
        asked: the id of the model that was asked for.

    Attributes:
        content: thoughts, words and calls, in this order; there once it has stopped.
        invalid_inputs: as ModelReply.invalid_inputs; likewise.
        model: who answers, with the provider's prefix.
        stopped: whether the end mark came, or the stream's own end.
    """

    def __init__(self, on_delta: Callable[[Delta], None], asked: str) -> None:
        self._on_delta = on_delta
        self._asked = split_model(asked)
        self._thoughts: list[str] = []
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._calls = CallAssembly()
        self._finish: str | None = None
        self._usage: dict[str, int] = {}
        self.content: list[Block] = []
        self.invalid_inputs: dict[str, str] = {}
        self.model = str(self._asked)
        self.message_id = ""
        self.told: ToldLimits | None = None
        self.started = False
        self.stopped = False

    @property
    def usage(self) -> Usage:
        """Tokens as last told; zeros where the server tells none."""
        return Usage(**self._usage)

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped, in the words of the Messages API; None while no reason came.

        Servers say `stop` for replies with calls, too.
        """
        if self._finish is None:
            return None
        reason = _STOP_REASONS.get(self._finish, self._finish)
        if self._refusals and reason is not StopReason.MAX_TOKENS:
            return StopReason.REFUSAL.value
        if reason is StopReason.END_TURN and self._calls.calls:
            return StopReason.TOOL_USE.value
        return str(reason)

    def take(self, event: Any) -> None:
        """Take one chunk's data, parsed, or DONE.

        Raises:
            ModelFault: GARBAGE, when it is not what the API documents; or what the server says went wrong.
        """
        if event == DONE:
            self._stop()
            return
        if not isinstance(event, dict):
            raise _garbage("a chunk that is no object", event)
        try:
            self._take(event)
        except (KeyError, TypeError, AttributeError) as error:
            raise _garbage(f"a chunk with a misshapen field ({error})", event) from None

    def _take(self, event: dict[str, Any]) -> None:
        choices = event.get("choices")
        if choices is None and not event.get("usage"):
            raise _garbage("a chunk without choices", event)
        self.started = True
        self._name(whole_text(event.get("model") or ""))
        self.message_id = whole_text(event.get("id") or "") or self.message_id
        self._count(event.get("usage"))
        for choice in choices or ():
            if (choice.get("index") or 0) == 0:
                # servers that do not stream answer with a whole message
                self._take_delta(choice.get("delta") or choice.get("message") or {})
                self._take_reason(choice.get("finish_reason"), event)

    def _name(self, told: str) -> None:
        # A dated id says more than what was asked for. Others say where a file is: no name that has a price.
        if told.startswith(self._asked.name):
            self.model = str(ModelId(self._asked.provider, told))

    def _take_delta(self, delta: dict[str, Any]) -> None:
        for name in _REASONING:
            thought = delta.get(name)
            if isinstance(thought, str) and thought:
                self._thoughts.append(thought)
                self._on_delta(Delta("thinking", thought))
                break
        for field_name, texts in (("content", self._texts), ("refusal", self._refusals)):
            text = _text(delta.get(field_name))
            if text:
                texts.append(text)
                self._on_delta(Delta("text", text))
        for piece in delta.get("tool_calls") or ():
            begun = self._calls.take(piece)
            if begun is not None:
                self._on_delta(Delta("tool", begun))

    def _take_reason(self, reason: Any, event: dict[str, Any]) -> None:
        if not reason:  # null, or empty until the end
            return
        if not isinstance(reason, str):
            raise TypeError(f"a finish_reason is {type(reason).__name__}, not text")
        fault = _FAULTS.get(reason)
        if fault is not None:
            raise ModelFault(fault, f"the server ended the reply with {reason}: {shorten(repr(event))}")
        self._finish = whole_text(reason)

    def _stop(self) -> None:
        self.stopped = True
        thoughts, words = whole_text("".join(self._thoughts)), whole_text("".join((*self._texts, *self._refusals)))
        blocks: list[Block] = []
        if thoughts:
            blocks.append({"type": "thinking", "thinking": thoughts, "signature": ""})
        if words:
            blocks.append({"type": "text", "text": words})
        cut = self.stop_reason == StopReason.MAX_TOKENS
        self.content = blocks + tool_blocks(self._calls.calls, self.invalid_inputs, cut=cut)

    def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        prompt, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
        cached = min(cached, prompt)
        self._usage = {"input_tokens": prompt - cached, "output_tokens": written, "cache_read_input_tokens": cached}


def _text(content: Any) -> str:
    """A piece of content: a text, or parts of which some are texts."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise TypeError(f"content is {type(content).__name__}, not text")
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS
    return value if is_count else 0


def _garbage(what: str, event: Any) -> ModelFault:
    return ModelFault(FaultKind.GARBAGE, f"the stream held {what}: {shorten(repr(event))}")
