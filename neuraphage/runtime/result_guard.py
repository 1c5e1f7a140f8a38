"""Guards of results: asked before the result of a call that has run is stored."""

from __future__ import annotations

from neuraphage.decide.shorten import shorten
from neuraphage.model.effect import EffectState
from neuraphage.model.hook import HookPoint, VerdictKind
from neuraphage.model.hook_payload import PostToolUse
from neuraphage.model.tool import ToolCall, ToolResult
from neuraphage.runtime.asking_guards import common, judgement, told
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


def judged_result(
    services: Services, work: UnitOfWork, call: ToolCall, result: ToolResult, total_ms: int
) -> ToolResult:
    """The result as guards let it be stored; that of a call that never began is none of theirs.

    Args:
        services: the ports.
        work: the working copy.
        call: the call.
        result: its result, without secrets.
        total_ms: how long it ran.
    """
    point, entry = HookPoint.POST_TOOL_USE, work.tool_effect(call.tool_use_id)
    if point not in services.guards.points or entry is None or entry.state is not EffectState.STARTED:
        return result
    payload = PostToolUse(
        **common(work),
        tool=call.name,
        tool_use_id=call.tool_use_id,
        params=dict(call.params),
        text=result.text,
        is_error=result.is_error,
        total_ms=total_ms,
    )
    found = judgement(services, work, payload)
    if found.verdict is VerdictKind.ALLOW:
        return result
    work.note(events=told(point, found, call.name, call.tool_use_id))
    if found.verdict is VerdictKind.BLOCK:
        text = f"This {call.name} call has run. The guard {found.by} withheld its result. Its reason: {found.reason}"
        return result.model_copy(update={"text": text, "is_error": True, "media": ()})
    limit = services.declarations[call.name].output_limit_chars
    changed = {"is_error": result.is_error if found.is_error is None else found.is_error}
    text = result.text if found.text is None else shorten(found.text, limit) or "[no output]"
    return result.model_copy(update={**changed, "text": text})
