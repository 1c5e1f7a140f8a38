"""The settings about tasks that wait for others. A part of `settings.Settings`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from neuraphage.model.limits import MOST_TREE_TURNS


class GraphSettings(BaseModel):
    """Bounds of trees and of the graph, so that no script that walks it or ends a task holds the state server up."""

    max_task_depth: int = Field(default=3, ge=0, le=10)
    """Most tasks that stand above one: a task that is so deep makes no children; 0 for none at all."""
    max_children: int = Field(default=20, ge=1, le=1_000)
    """Most children that one task makes in its life."""
    max_tree_turns: Annotated[int, Field(ge=0, le=MOST_TREE_TURNS)] | Literal["none"] = "none"
    """Most turns of a task with all that is below it, where it sets no such limit of its own; "none" for no limit."""
    dependencies_max: int = Field(default=1_000, ge=1, le=100_000)
    """Most tasks that one waits for."""
    dependants_max: int = Field(default=1_000, ge=1, le=100_000)
    """Most tasks that wait for one; all of them are released by the write that ends it."""
    graph_walk_max: int = Field(default=10_000, ge=10, le=1_000_000)
    """Most tasks that are looked at to see that a new dependency closes no circle."""
    lock_wait_s: float = Field(default=60.0, gt=0, le=86_400)
    """How long a call waits for what another task has locked; then it gets an error that names that task."""
