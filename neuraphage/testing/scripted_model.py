"""A model that answers from a list or by a script, inside this process: for tests that need no HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.usage import Usage
from neuraphage.ports import Delta, Interrupt
from neuraphage.testing.scripted_api.message import message_of
from neuraphage.testing.scripted_api.script import Script, ScriptedReply, ScriptRequest, reply


class ScriptedModel:
    """Implements ports.ModelClient. An answer follows from the conversation alone, so a repeated request gets the same.

    Args:
        replies: one for each turn, in order, a text or what `scripted_api.reply` makes; or a script, see there.
    """

    def __init__(self, replies: Sequence[ScriptedReply | str] | Script) -> None:
        self._replies = replies

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:  # noqa: ARG002 - the port's shape
        """See ports.ModelClient."""
        interrupt.check()
        body: dict[str, Any] = {
            "model": request.model,
            "system": request.system,
            "messages": request.messages,
            "tools": request.tools,
        }
        asked = ScriptRequest.of(body)
        message = message_of(asked, self._answer(asked))
        return ModelReply(
            content=message["content"],
            stop_reason=message["stop_reason"],
            usage=Usage.model_validate(message["usage"]),
            model=request.model,
            message_id=message["id"],
        )

    def _answer(self, asked: ScriptRequest) -> ScriptedReply:
        answer: ScriptedReply | str
        if callable(self._replies):
            answer = self._replies(asked)
        elif asked.turn < len(self._replies):
            answer = self._replies[asked.turn]
        else:
            raise AssertionError(f"the model is asked for reply {asked.turn + 1}, and {len(self._replies)} were given")
        return reply(answer) if isinstance(answer, str) else answer
