"""A task with those that it waits for, and those that wait for it."""

from __future__ import annotations

from neuraphage.model.base import Frozen
from neuraphage.model.dependency import OnFailure
from neuraphage.model.task import Status


class TreeNode(Frozen):
    """One task of a tree.

    Args:
        task_id: the task.
        name: its name; empty where its record is gone.
        status: where it stands; None where its record is gone.
        on_failure: of the edge to the node above: what happens when the awaited one fails.
        holds_up: whether that edge keeps the waiting task from work.
        is_repeated: whether it stands elsewhere in the tree with all that is below it.
        below: the next nodes.
    """

    task_id: str
    name: str = ""
    status: Status | None = None
    on_failure: OnFailure | None = None
    holds_up: bool = False
    is_repeated: bool = False
    below: tuple[TreeNode, ...] = ()


class TaskTree(Frozen):
    """What stands around one task.

    Args:
        task_id: the task.
        name: its name.
        status: where it stands.
        waits_for: tasks that it waits or has waited for, each with those that it waits for itself.
        awaited_by: tasks that wait for it, each with those that wait for it in turn.
        made_by: the task that has made it, if one has.
        subtasks: tasks that it has made, each with those that it has made itself.
        is_cut: whether there are more than are shown.
    """

    task_id: str
    name: str
    status: Status
    waits_for: tuple[TreeNode, ...] = ()
    awaited_by: tuple[TreeNode, ...] = ()
    made_by: str | None = None
    subtasks: tuple[TreeNode, ...] = ()
    is_cut: bool = False
