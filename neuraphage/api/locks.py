"""Locks: who holds what, who waits for it, and a person's hand on one that stands in the way."""

from __future__ import annotations

from collections.abc import Sequence

from neuraphage.api.base import ApiBase
from neuraphage.errors import BadInput
from neuraphage.inside_command import refuse_inside_command
from neuraphage.model.lock import HeldResource, LockState


class Locks(ApiBase):
    """Locks of all tasks (docs/locks.md)."""

    def locks(self) -> Sequence[HeldResource]:
        """Every resource that a task holds or waits for, by name.

        Raises:
            StoreUnavailable, StoreError: the state server did not answer.
        """
        return self._ports.reads.locks()

    def break_lock(self, resource: str, *, key: str | None = None) -> Sequence[str]:
        """Take a lock away from the tasks that have it. What they do goes on; the next one that waits begins beside it.

        Args:
            resource: its name, as `locks` gives it.
            key: idempotency key.

        Returns:
            Ids of the tasks that had it.

        Raises:
            BadInput: nobody has it, or a command of a task asks for it.
            StoreUnavailable, StoreError: it is not known whether it was stored; repeat it under the same key.
        """
        refuse_inside_command("the request", self._ports.calling_task)
        lines = next((one.lines for one in self.locks() if one.resource == resource), ())
        holders = [line.task_id for line in lines if line.state is LockState.HOLDS]
        if not holders:
            raise BadInput(f"nobody holds {resource!r}; `neuraphage locks` lists what is held")
        for task_id in holders:
            self._service.unlock(task_id, resource, key=key)
        return holders
