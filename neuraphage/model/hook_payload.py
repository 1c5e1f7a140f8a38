"""What hooks are given, by point. A field may be added by a release; none is taken away or means something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from neuraphage.model.base import Frozen
from neuraphage.model.hook import HookPoint


class Payload(Frozen):
    """What every hook is given.

    Args:
        task_id: of the task.
        task_name: its name.
        turn: the turn under way, from 0.
        working_dir: of the task; none without one.
        recovered: of a guard: whether the present stretch of work began with a recovery, so that a process that is gone
            may have asked the same already; of an observer: whether telling it this event was begun before.
    """

    point: ClassVar[HookPoint]

    task_id: str
    task_name: str = ""
    turn: int = 0
    working_dir: str | None = None
    recovered: bool = False


class PreContextAssembly(Payload):
    """Given at PreContextAssembly.

    Args:
        model: that is to be asked.
        entries: of the conversation, by their number.
        said: what people have written since the last request.
    """

    point = HookPoint.PRE_CONTEXT_ASSEMBLY

    model: str
    entries: int
    said: tuple[str, ...] = ()


class PostContextAssembly(Payload):
    """Given at PostContextAssembly.

    Args:
        model: that is to be asked.
        message_count: how many messages the request has.
        tokens: its estimated length.
        sha256: of the messages, as canonical JSON.
        system: its system text.
    """

    point = HookPoint.POST_CONTEXT_ASSEMBLY

    model: str
    message_count: int
    tokens: int
    sha256: str
    system: str


class PreLLMCall(Payload):
    """Given at PreLLMCall.

    Args:
        model: that is to be asked.
        request_id: of the request.
        messages: of the request, in the form of the Messages API.
        system: its system text.
        max_tokens: longest reply.
        cost_microusd: what the call may cost at most.
    """

    point = HookPoint.PRE_LLM_CALL

    model: str
    request_id: str
    messages: list[dict[str, Any]]
    system: str
    max_tokens: int
    cost_microusd: int


class PostLLMCall(Payload):
    """Given at PostLLMCall.

    Args:
        model: that has replied.
        request_id: of the request.
        text: the words of the reply.
        calls: calls of tools in it: id, name and input.
        stop_reason: why the model stopped.
        input_tokens, output_tokens: of the call, cached ones included.
        first_token_ms, total_ms: how long it took.
    """

    point = HookPoint.POST_LLM_CALL

    model: str
    request_id: str
    text: str
    calls: list[dict[str, Any]]
    stop_reason: str
    input_tokens: int
    output_tokens: int
    first_token_ms: int = 0
    total_ms: int = 0


class PreToolUse(Payload):
    """Given at PreToolUse.

    Args:
        tool: its name.
        tool_use_id: of the call.
        params: its parameters.
        effect: the tool's effect: pure, keyed, checkable or opaque.
    """

    point = HookPoint.PRE_TOOL_USE

    tool: str
    tool_use_id: str
    params: dict[str, Any]
    effect: str


class PostToolUse(Payload):
    """Given at PostToolUse.

    Args:
        tool: its name.
        tool_use_id: of the call.
        params: its parameters.
        text: its result, without secrets.
        is_error: whether that tells of an error.
        total_ms: how long it ran; 0 where that is not known.
    """

    point = HookPoint.POST_TOOL_USE

    tool: str
    tool_use_id: str
    params: dict[str, Any]
    text: str
    is_error: bool
    total_ms: int = 0


class PreUserPrompt(Payload):
    """Given at PreUserPrompt.

    Args:
        tool_use_id: of the call that asks.
        text: the question.
        options: answers that it proposes.
    """

    point = HookPoint.PRE_USER_PROMPT

    tool_use_id: str
    text: str
    options: tuple[str, ...] = ()


class PostUserInput(Payload):
    """Given at PostUserInput.

    Args:
        text: what was written, without secrets.
        prompt_id: of the question that it answers; empty for a message, and for the words of a submit.
        by: user, task for the words that a parent has submitted it with, or timeout for the prompt's own answer at its
            deadline.
    """

    point = HookPoint.POST_USER_INPUT

    text: str
    prompt_id: str = ""
    by: str = "user"


class LoopIteration(Payload):
    """Given at LoopIteration.

    Args:
        then: what follows: next turn, rest (it waits for a person's next words) or completed.
        finished: turns that the task has finished, this one included.
        cost_microusd: what it has cost so far.
        text: the words of the last reply.
    """

    point = HookPoint.LOOP_ITERATION

    then: str
    finished: int
    cost_microusd: int
    text: str = ""


class SecurityPolicyCheck(Payload):
    """Given at SecurityPolicyCheck.

    Args:
        tool: its name.
        tool_use_id: of the call.
        params: its parameters, as it is to run.
        rules: those that allow it; empty where a person has, or nobody had to.
        is_approved: whether a person has said yes to this very call.
    """

    point = HookPoint.SECURITY_POLICY_CHECK

    tool: str
    tool_use_id: str
    params: dict[str, Any]
    rules: tuple[str, ...] = ()
    is_approved: bool = False


class PermissionRequest(Payload):
    """Given at PermissionRequest.

    Args:
        tool: its name.
        tool_use_id: of the call.
        params: its parameters.
    """

    point = HookPoint.PERMISSION_REQUEST

    tool: str
    tool_use_id: str
    params: dict[str, Any]


class Observed(Payload):
    """Given to observers, whatever the event.

    Args:
        event: the kind of the event.
        event_id: its id; the same each time that it is told.
        at_ms: when it happened, by the state server's clock.
        data: what docs/events.md says of the kind.
        attempt: which try of this observer this is, from 1.
    """

    event: str
    event_id: str
    at_ms: int | None = None
    data: dict[str, Any]
    attempt: int = 1


GIVEN: Mapping[HookPoint, type[Payload]] = {
    one.point: one
    for one in (
        PreContextAssembly,
        PostContextAssembly,
        PreLLMCall,
        PostLLMCall,
        PreToolUse,
        PostToolUse,
        PreUserPrompt,
        PostUserInput,
        LoopIteration,
        SecurityPolicyCheck,
        PermissionRequest,
    )
}
"""What guards are given, by point; observers are all given `Observed`."""
