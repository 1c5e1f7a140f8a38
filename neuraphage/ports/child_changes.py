"""What a turn writes about children of its task."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.model.subtask import ChildWait
from neuraphage.model.task import TaskSpec


@dataclass(frozen=True, slots=True)
class ChildChanges:
    """What a write does about children of its task. New and awaited ones are for suspend alone.

    Args:
        new: made by this very write, each with how it is waited for.
        awaited: children that are there, with how they are waited for from now on.
        taken: those whose outcome stands in the conversation now, so that it is kept beside it no more.
    """

    new: tuple[tuple[TaskSpec, ChildWait], ...] = ()
    awaited: tuple[tuple[str, ChildWait], ...] = ()
    taken: tuple[str, ...] = ()


NO_CHILDREN = ChildChanges()
"""None of them."""
