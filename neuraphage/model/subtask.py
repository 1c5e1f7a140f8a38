"""Tasks that a task has made: how it waits for them, and what came of each."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.model.base import Frozen
from neuraphage.model.dependency import DependencyState


class ChildWait(StrEnum):
    """How a parent waits for one of its children now."""

    LATER = "later"
    """Not now: a later call may."""
    ALL = "all"
    """Until this one, and all others that it waits for so, are over."""
    ANY = "any"
    """Until one of those that it waits for so is over."""


class ChildChange(StrEnum):
    """What a write of a turn does about a child."""

    NEW = "new"
    """It is made."""
    WAIT = "wait"
    """It is waited for."""
    TAKEN = "taken"
    """What came of it stands in the conversation now."""


class OnParentEnd(StrEnum):
    """What becomes of a child that is not over when its parent is."""

    CANCEL = "cancel"
    """It is cancelled too, with its own children."""
    ORPHAN = "orphan"
    """It goes on by itself, within its own limits."""


class Child(Frozen):
    """A child as it stands in the record of its parent.

    Args:
        task_id: the child.
        wait: how the parent waits for it.
        state: where it stands; `gone` also for one that goes on without its parent.
    """

    task_id: str
    wait: ChildWait = ChildWait.LATER
    state: DependencyState = DependencyState.OPEN

    @property
    def is_open(self) -> bool:
        """Whether it is not over."""
        return self.state is DependencyState.OPEN


class ChildOutcome(Frozen):
    """What came of a child, as the write that ended it has left it with its parent.

    Args:
        state: how it ended.
        text: its summary, its error, or why it was cancelled.
        files: paths that its tools wrote.
        turns: that it took.
        cost_microusd: what it and its own children cost.
    """

    state: DependencyState
    text: str = ""
    files: tuple[str, ...] = ()
    turns: int = 0
    cost_microusd: int = 0


def holds_parent(children: tuple[Child, ...]) -> bool:
    """Whether a task waits for its children; the rule is that of children.lua."""
    if any(child.wait is ChildWait.ALL and child.state is DependencyState.OPEN for child in children):
        return True
    of_any = [child for child in children if child.wait is ChildWait.ANY]
    return bool(of_any) and all(child.state is DependencyState.OPEN for child in of_any)
