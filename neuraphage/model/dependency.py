"""A task that another one waits for."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from neuraphage.errors import BadInput
from neuraphage.model.base import Frozen

SKIPPED = "skipped, since "
"""So begins the reason of a task that was cancelled because of one that it had waited for."""
TASK_ID_PATTERN = r"^task-[0-9a-f-]{36}$"


class OnFailure(StrEnum):
    """What becomes of a waiting task when the one it waits for fails or is cancelled."""

    BLOCK = "block"
    """It waits on: the other one may be retried, or a person takes the dependency away."""
    SKIP = "skip"
    """It is cancelled too, and so on along the edges that say skip."""
    GO_ON = "go_on"
    """It begins all the same."""


class Dependency(Frozen):
    """An edge of the graph: this task is to end first.

    Args:
        task_id: the task that is waited for.
        on_failure: what happens when that one fails or is cancelled.
    """

    task_id: str = Field(pattern=TASK_ID_PATTERN)
    on_failure: OnFailure = OnFailure.BLOCK


class DependencyState(StrEnum):
    """Where a task that is waited for stood when it was last looked at."""

    OPEN = "open"
    """It is not over."""
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    GONE = "gone"
    """Its record is deleted; counts as a failure."""


class Awaited(Dependency):
    """An edge as it stands in the record of the waiting task.

    Args:
        state: of the task that is waited for, as of its last end.
    """

    state: DependencyState = DependencyState.OPEN

    @property
    def holds_up(self) -> bool:
        """Whether it keeps the waiting task from work."""
        is_failed = self.state not in (DependencyState.OPEN, DependencyState.COMPLETED)
        return self.state is DependencyState.OPEN or (is_failed and self.on_failure is OnFailure.BLOCK)


def read_dependency(text: str) -> Dependency:
    """A task to wait for, as `TASK` or `TASK=RULE`; its id may be a part of one.

    Raises:
        BadInput: there is no such rule, or no task is named.
    """
    part, _, rule = text.partition("=")
    rules = [one.value for one in OnFailure]
    if not part.strip():
        raise BadInput(f"{text!r} names no task; write TASK or TASK=skip")
    if rule and rule.replace("-", "_") not in rules:
        raise BadInput(f"{text!r}: {rule!r} is none of {', '.join(rules)}")
    on_failure = OnFailure(rule.replace("-", "_")) if rule else OnFailure.BLOCK
    return Dependency.trusted(task_id=part, on_failure=on_failure)


def as_dependency(value: Any) -> Any:
    """A dependency given as an id alone; schema 1 kept them so."""
    return {"task_id": value} if isinstance(value, str) else value
