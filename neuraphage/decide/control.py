"""complete_task and fail_task among the other calls of a reply: when they count, and when they are held back. Pure.

The model wrote all calls of a reply before it saw any result. "It is done" beside a call that failed is no longer true,
so it gets an error, and the turn goes on. "It cannot be done" stays true whatever the calls beside it came to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuraphage.decide.replies import Stop, stop_of
from neuraphage.model.effect import EffectState, Journal, ToolEffect, model_effect, tool_effect
from neuraphage.model.tool import ControlKind, ToolCall, ToolDeclaration

_ENDING = frozenset({ControlKind.COMPLETE_TASK, ControlKind.FAIL_TASK})
_WHOLE = frozenset({Stop.NATURAL, Stop.TOOL_USE})


def control_of(call: ToolCall, tools: Mapping[str, ToolDeclaration], problems: Mapping[str, str]) -> ControlKind | None:
    """What the call asks of the turn itself; None for a tool, and for a call that cannot be carried out."""
    tool = tools.get(call.name)
    return None if tool is None or call.tool_use_id in problems else tool.control


def endings_last(
    calls: Sequence[ToolCall], tools: Mapping[str, ToolDeclaration], problems: Mapping[str, str]
) -> list[ToolCall]:
    """The calls in the order in which they are settled: that of the reply, but those that end the task last."""
    return sorted(calls, key=lambda call: control_of(call, tools, problems) in _ENDING)


def why_held_back(
    call: ToolCall,
    calls: Sequence[ToolCall],
    tools: Mapping[str, ToolDeclaration],
    problems: Mapping[str, str],
    journal: Journal,
) -> str | None:
    """Why a call that would end the task does not, for the model; None when it does.

    Args:
        call: complete_task or fail_task.
        calls: all of the reply; those beside it are settled.
        tools: declarations by name.
        problems: tool_use id -> why a call cannot be run at all.
        journal: of the turn.
    """
    kinds = {control_of(one, tools, problems) for one in calls}
    if kinds >= _ENDING:
        return "One reply called both complete_task and fail_task. Neither was carried out: call the right one, alone."
    if control_of(call, tools, problems) is not ControlKind.COMPLETE_TASK:
        return None
    failed = [one.name for one in calls if one is not call and _failed(tool_effect(journal, one.tool_use_id))]
    if failed:
        return (
            f"The task was not completed: of the calls beside this one, {_named(failed)} failed or did not run."
            " Read the results and put it right. Then call complete_task again, alone."
        )
    if ControlKind.ASK_USER in kinds:
        return (
            "The task was not completed: the same reply asked the user. Read the answer first. Then call complete_task"
            " again, alone."
        )
    model = model_effect(journal)
    if model is not None and model.stop_reason is not None and stop_of(model.stop_reason) not in _WHOLE:
        return (
            "The task was not completed: your reply was cut off. If there is nothing more to do, call complete_task"
            " again, alone."
        )
    return None


def ending(
    calls: Sequence[ToolCall],
    tools: Mapping[str, ToolDeclaration],
    problems: Mapping[str, str],
    journal: Journal,
) -> ToolCall | None:
    """The call that ends the task with this turn, if one does: the first that was not answered with an error."""
    for call in calls:
        if control_of(call, tools, problems) in _ENDING and not _failed(tool_effect(journal, call.tool_use_id)):
            return call
    return None


def _failed(entry: ToolEffect | None) -> bool:
    return entry is not None and entry.state is EffectState.COMPLETED and entry.is_error


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(sorted(set(names))[:5])
    return shown if len(names) == 1 else f"{len(names)} ({shown})"
