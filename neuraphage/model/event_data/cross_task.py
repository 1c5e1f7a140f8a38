"""Data of events about what tasks have to do with each other."""

from __future__ import annotations

from neuraphage.model.event_data.base import EventData


class ResourceLockWait(EventData):
    """Data of ResourceLockWait.

    Args:
        resources: what it waits for.
        holder_task: the task that has the first of those that are not free, or waits for it since longer.
    """

    resources: tuple[str, ...]
    holder_task: str | None = None


class ResourceLocks(EventData):
    """Data of ResourceLockAcquired and ResourceLockReleased.

    Args:
        resources: what is locked.
    """

    resources: tuple[str, ...]


class ResourceLockBroken(EventData):
    """Data of ResourceLockBroken.

    Args:
        resource: what was locked.
        by: user.
        who: name of the person, as their machine knows it; empty where it is not known.
    """

    resource: str
    by: str
    who: str = ""


class DependencyAdded(EventData):
    """Data of DependencyAdded.

    Args:
        task_id: of the task that is to end first.
        on_failure: what happens when that one fails: block, skip or go_on.
        by: user.
    """

    task_id: str
    on_failure: str
    by: str


class DependencyRemoved(EventData):
    """Data of DependencyRemoved.

    Args:
        task_id: of the task that was to end first.
        by: user.
    """

    task_id: str
    by: str


class SubtaskSpawned(EventData):
    """Data of SubtaskSpawned.

    Args:
        child: id of the task that was made.
        name: its name.
    """

    child: str
    name: str = ""
