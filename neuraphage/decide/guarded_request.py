"""A request as guards have changed it, and a reply that they give in place of it. Pure."""

from __future__ import annotations

from typing import Any

from neuraphage.decide.guarding import JOIN
from neuraphage.model.effect import ModelEffect
from neuraphage.model.hook import HookPoint, VerdictKind
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.usage import Usage

_OF_REQUEST = (HookPoint.PRE_CONTEXT_ASSEMBLY, HookPoint.POST_CONTEXT_ASSEMBLY, HookPoint.PRE_LLM_CALL)


def judged_of_request(entry: ModelEffect) -> dict[str, dict[str, Any]]:
    """What is kept of judgements when a request is sent again: those of the request, and not of its reply."""
    return {point.value: entry.guarded[point.value] for point in _OF_REQUEST if point.value in entry.guarded}


def as_guarded(request: ModelRequest, entry: ModelEffect) -> ModelRequest:
    """The request with what guards have changed of it; the messages stay what is stored."""
    update: dict[str, Any] = {}
    added = []
    for point in (HookPoint.POST_CONTEXT_ASSEMBLY, HookPoint.PRE_LLM_CALL):
        said = entry.judged_at(point)
        if said is None:
            continue
        if said.system is not None:
            added.append(said.system)
        if said.max_tokens is not None:
            update["max_tokens"] = said.max_tokens
    if added:
        update["system"] = [*request.system, {"type": "text", "text": JOIN.join(added)}]
    return request.model_copy(update=update) if update else request


def system_text(request: ModelRequest) -> str:
    """The system text of a request as one."""
    return JOIN.join(str(block.get("text", "")) for block in request.system)


def reply_by_guard(entry: ModelEffect, request: ModelRequest) -> ModelReply | None:
    """The reply that a guard gives in place of the model; None where the model is asked."""
    said = entry.judged_at(HookPoint.PRE_LLM_CALL)
    if said is None or said.verdict is not VerdictKind.ANSWER:
        return None
    content = [{"type": "text", "text": said.text}] if said.text else []
    return ModelReply(content=content, stop_reason="end_turn", usage=Usage(), model=request.model, message_id="")
