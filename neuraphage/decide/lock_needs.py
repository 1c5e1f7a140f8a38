"""What a call of a tool must hold so that no other task meets its effect. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from neuraphage.model.lock import LockClass, LockMode, LockNeed, LockState, TaskLocks
from neuraphage.model.tool import ToolDeclaration, ToolResult


def lock_needs(
    tool: ToolDeclaration, params: Mapping[str, Any], resolved: Callable[[str], str]
) -> tuple[LockNeed, ...]:
    """The locks of one call, by the names of their resources: in this order all calls ask for theirs.

    Args:
        tool: the declaration.
        params: of the call.
        resolved: the absolute path of one that a call names, through links.
    """
    named = (params.get(name) for name in tool.traits.writes)
    paths = {resolved(path) for path in named if isinstance(path, str)}
    return tuple(LockNeed(resource=f"{LockClass.FILE.value}:{path}", mode=LockMode.EXCLUSIVE) for path in sorted(paths))


def waited_too_long(locks: TaskLocks | None, tool_use_id: str) -> ToolResult | None:
    """The result of a call that has waited for its locks as long as a call does; None for any other."""
    if locks is None or locks.state is not LockState.LATE or locks.call != tool_use_id:
        return None
    waited_s = max(1, round((locks.due_ms - locks.since_ms) / 1000))
    return ToolResult(
        text=(
            f"This was not done: {locks.resource} is locked by another task, {locks.holder_task}, and did not come free"
            f" within {waited_s} s. Do something else first and try again later, or say what you are waiting for."
        ),
        is_error=True,
    )
