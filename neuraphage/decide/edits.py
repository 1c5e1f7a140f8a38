"""A call that a person has changed before they allowed it: what runs, and what the model is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuraphage.decide.hashing import canonical
from neuraphage.decide.shorten import shorten
from neuraphage.model.effect import ToolEffect
from neuraphage.model.hook import HookPoint
from neuraphage.model.tool import SightKind, ToolCall, ToolResult

TOLD_CHARS = 10_000
"""Of a change that the model is told."""


def changed(call: ToolCall, changes: Mapping[str, Any]) -> ToolCall:
    """A call with other parameters.

    Args:
        call: as the model made it.
        changes: parameters that take the place of its own, by name; None takes one away.
    """
    kept = {name: value for name, value in call.params.items() if name not in changes}
    params = {**kept, **{name: value for name, value in changes.items() if value is not None}}
    return call.model_copy(update={"params": params})


def as_allowed(call: ToolCall, entry: ToolEffect | None) -> ToolCall:
    """A call as it is to run: with what guards, and then a person, have changed of it."""
    if entry is None:
        return call
    said = entry.judged_at(HookPoint.PRE_TOOL_USE) if entry.guarded else None
    if said is not None and said.params is not None:
        call = call.model_copy(update={"params": said.params})
    return call if entry.edited is None else changed(call, entry.edited)


def told_of_edit(result: ToolResult, entry: ToolEffect | None) -> ToolResult:
    """A result that says what really ran, where that is not what the model wrote."""
    said = None if entry is None else entry.judged_at(HookPoint.PRE_TOOL_USE)
    if entry is not None and entry.edited is not None:
        whole = canonical(entry.edited).decode()
        told = shorten(whole, TOLD_CHARS)
        how = f"A person changed this call before they allowed it, to {told} (null: taken away)."
    elif said is not None and said.params is not None:
        whole = canonical(said.params).decode()
        told = shorten(whole, TOLD_CHARS)
        how = f"The guard {said.by} changed this call, to {told}."
    else:
        return result
    text = f"{how} What follows is about that call.\n{result.text}"
    file = result.file
    if file is not None and file.kind is SightKind.WRITTEN and told != whole:
        file = file.model_copy(update={"kind": SightKind.EDITED})  # the model does not know all that was written
    return result.model_copy(update={"text": text, "file": file})
