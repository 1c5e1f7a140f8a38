"""What a turn can do about children of its task: a part of the union in actions.py."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.model.rule import Rule
from neuraphage.model.tool import ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Spawn:
    """Make a child for each call, in the write that gives the lease back.

    Args:
        calls: of one reply; each with the rules that allow it, none where a person did.
    """

    calls: tuple[tuple[ToolCall, tuple[Rule, ...]], ...]


@dataclass(frozen=True, slots=True)
class AwaitChildren:
    """Give the lease back until children are over.

    Args:
        call: that waits for them.
        children: their ids.
        awaits_any: until one of them is over.
    """

    call: ToolCall
    children: tuple[str, ...]
    awaits_any: bool = False


@dataclass(frozen=True, slots=True)
class TakeChildren:
    """Note what came of children as the result of a call.

    Args:
        call: that has waited for them.
        result: what the model is told.
        taken: children whose outcome it tells.
    """

    call: ToolCall
    result: ToolResult
    taken: tuple[str, ...]
