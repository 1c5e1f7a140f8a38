"""Guards of requests and replies: what they say is stored with the announcement, or with the reply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuraphage.decide.context_size import tokens_of
from neuraphage.decide.conversation import tool_calls, visible
from neuraphage.decide.guarded_request import as_guarded, judged_of_request, system_text
from neuraphage.decide.hashing import sha256_hex
from neuraphage.model.effect import ModelEffect
from neuraphage.model.hook import HookPoint, Judgement, VerdictKind
from neuraphage.model.hook_payload import Payload, PostContextAssembly, PostLLMCall, PreContextAssembly, PreLLMCall
from neuraphage.model.message import Entry, ModelReply, ModelRequest
from neuraphage.runtime.asking_guards import GuardBlocked, common, judgement, told
from neuraphage.runtime.call_cost import CallCost
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


def before_assembly(services: Services, work: UnitOfWork, before: ModelEffect | None) -> dict[str, dict[str, Any]]:
    """Ask the guards of PreContextAssembly once a turn, and put what they add into the conversation.

    Args:
        services: the ports.
        work: the working copy, with what people have written taken in.
        before: what the journal has of the call.

    Returns:
        What is kept of judgements with the call.

    Raises:
        GuardBlocked: no request is to be made.
    """
    kept = {} if before is None else judged_of_request(before)
    point = HookPoint.PRE_CONTEXT_ASSEMBLY
    if point not in services.guards.points or point.value in kept:
        return kept
    turn = work.record.counters.iteration
    said = tuple(
        str(block["text"])
        for entry in visible(work.entries)
        if entry.get("said") or (turn == 0 and entry["role"] == "user")
        for block in entry["content"]
        if block.get("type") == "text" and entry["turn"] == turn
    )
    payload = PreContextAssembly(**common(work), model=work.record.choice.model, entries=len(work.entries), said=said)
    found = _asked(services, work, payload)
    if found.text is not None:
        text: list[dict[str, Any]] = [{"type": "text", "text": found.text}]
        work.note(entries=[Entry(role="user", content=text, turn=turn)])
    return ModelEffect(state="planned", guarded=kept).with_judgement(point, found).guarded


def judged_request(
    services: Services, work: UnitOfWork, entry: ModelEffect, request: ModelRequest, take_back: Callable[[], None]
) -> tuple[ModelEffect, ModelRequest]:
    """Ask the guards of a request that they have not judged, and change it by what they say.

    Args:
        services: the ports.
        work: the working copy.
        entry: the call that is about to be announced.
        request: what is to be sent.
        take_back: undoes what was noted for it.

    Raises:
        GuardBlocked: it is not to be sent; nothing is noted.
    """
    try:
        for point in (HookPoint.POST_CONTEXT_ASSEMBLY, HookPoint.PRE_LLM_CALL):
            if point in services.guards.points and point.value not in entry.guarded:
                found = _asked(services, work, _payload(services, work, point, entry, request))
                entry = entry.with_judgement(point, found)
                own = ModelEffect(state=entry.state, guarded={point.value: entry.guarded[point.value]})
                request = as_guarded(request, own)
    except GuardBlocked:
        take_back()
        raise
    return entry, request


def _payload(
    services: Services, work: UnitOfWork, point: HookPoint, entry: ModelEffect, request: ModelRequest
) -> Payload:
    system = system_text(request)
    if point is HookPoint.PRE_LLM_CALL:
        return PreLLMCall(
            **common(work),
            model=request.model,
            request_id=entry.request_id or "",
            messages=request.messages,
            system=system,
            max_tokens=request.max_tokens,
            cost_microusd=CallCost(services).worst_case_microusd(request),
        )
    return PostContextAssembly(
        **common(work),
        model=request.model,
        message_count=len(request.messages),
        tokens=tokens_of(request.messages) + tokens_of(request.system),
        sha256=sha256_hex(request.messages),
        system=system,
    )


def _asked(services: Services, work: UnitOfWork, payload: Payload) -> Judgement:
    found = judgement(services, work, payload)
    if found.verdict is VerdictKind.BLOCK:
        raise GuardBlocked(payload.point, found)
    if found.verdict is not VerdictKind.ALLOW:
        work.note(events=told(payload.point, found))
    return found


def judged_reply(
    services: Services, work: UnitOfWork, entry: ModelEffect, reply: ModelReply, content: list[dict[str, Any]]
) -> tuple[ModelEffect, list[dict[str, Any]]]:
    """Ask the guards of a reply before it is stored.

    Args:
        services: the ports.
        work: the working copy.
        entry: the call.
        reply: of the model.
        content: of the reply, without secrets.

    Returns:
        The call with what they said, and the content that is stored.
    """
    point = HookPoint.POST_LLM_CALL
    if point not in services.guards.points:
        return entry, content
    texts = [block["text"] for block in content if block.get("type") == "text"]
    calls = [{"id": one.tool_use_id, "name": one.name, "input": dict(one.params)} for one in tool_calls(content)]
    usage = reply.usage
    payload = PostLLMCall(
        **common(work),
        model=reply.model,
        request_id=entry.request_id or "",
        text="".join(texts),
        calls=calls,
        stop_reason=reply.stop_reason,
        input_tokens=usage.all_tokens - usage.output_tokens,
        output_tokens=usage.output_tokens,
        first_token_ms=reply.first_token_ms,
        total_ms=reply.total_ms,
    )
    found = judgement(services, work, payload)
    if found.verdict is not VerdictKind.ALLOW:
        work.note(events=told(point, found))
    if found.verdict is VerdictKind.BLOCK:
        text = f"[This reply was withheld by the guard {found.by}: {found.reason}]"
        return entry.with_judgement(point, found), [{"type": "text", "text": text}]
    if found.text is None:
        return entry, content
    others = [block for block in content if block.get("type") != "text"]
    at = next((n for n, block in enumerate(others) if block.get("type") == "tool_use"), len(others))
    words = [{"type": "text", "text": found.text}] if found.text else []
    return entry, [*others[:at], *words, *others[at:]]
