"""Limits of a task, and how people change them."""

from __future__ import annotations

from pydantic import Field

from neuraphage.model.base import Frozen

MOST_TURNS = 10_000
MOST_TREE_TURNS = 1_000_000
MOST_COST_MICROUSD = 10**15
MOST_RUNNING_MS = 366 * 86_400_000
"""Highest limits that a person can set later."""


class Limits(Frozen):
    """Limits of one task, checked before each model call. Zero means stop, never unlimited.

    Args:
        max_turns: turns for one piece of work: from the start, from a reset, or from the message with which a
            person went on after the model had ended its turn.
        max_cost_microusd: money of the whole task, over resets too.
        max_tree_turns: turns of the whole task with all that is below it, over resets too; None for no such limit.
        max_running_ms: time of the whole task that workers have it, over resets too; None for no such limit.
    """

    max_turns: int = Field(default=50, ge=0, le=MOST_TURNS)
    max_cost_microusd: int = Field(default=10_000_000, ge=0)
    max_tree_turns: int | None = Field(default=None, ge=0, le=MOST_TREE_TURNS)
    max_running_ms: int | None = Field(default=None, ge=0, le=MOST_RUNNING_MS)


class LimitChange(Frozen):
    """Limits that a person sets after create; None leaves one as it is.

    Args:
        max_turns: turns.
        max_cost_microusd: money.
        max_tree_turns: turns with all that is below the task.
        max_running_ms: time that workers have it.
    """

    max_turns: int | None = Field(default=None, ge=0, le=MOST_TURNS)
    max_cost_microusd: int | None = Field(default=None, ge=0, le=MOST_COST_MICROUSD)
    max_tree_turns: int | None = Field(default=None, ge=0, le=MOST_TREE_TURNS)
    max_running_ms: int | None = Field(default=None, ge=0, le=MOST_RUNNING_MS)


class TurnsUsedUp(Frozen):
    """Why a turn of a tree may not begin.

    Args:
        task_id: the task whose limit it is; the one that asks, or one above it.
        limit: most turns of that one with all that is below it.
        used: turns that they have taken.
    """

    task_id: str
    limit: int
    used: int


NO_CHANGE = LimitChange()
