"""Whether this program is part of a command that a task runs: such a program gives no orders to tasks.

A seat belt: it keeps a model that has found our command line from answering its own questions by mistake. A command
that wants to can take the mark out of its environment; what holds it then is the sandbox (see SECURITY.md).
"""

from __future__ import annotations

import os

from neuraphage.errors import BadInput

MARK = "NEURAPHAGE_TASK"
"""The variable of a command's environment that names its task."""
_ID_CHARS = 64


def calling_task() -> str:
    """The id of the task whose command this program is part of; empty when it is part of none."""
    return os.environ.get(MARK, "")[:_ID_CHARS]


def refuse_inside_command(what: str, task_id: str | None = None) -> None:
    """Refuse an order that comes from inside a command.

    Args:
        what: what was to be done.
        task_id: the task that it comes from; None for what the environment says.

    Raises:
        BadInput: it does; the message says who can do it.
    """
    task = calling_task() if task_id is None else task_id
    if task:
        raise BadInput(
            f"{what} was refused: this is part of a command of {task!a}, and what a task runs neither answers nor"
            " orders tasks. A person can do it, in a terminal of their own; ask them."
        )
