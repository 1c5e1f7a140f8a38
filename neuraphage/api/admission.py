"""How many tasks are at work, and the line of those that wait for a slot."""

from __future__ import annotations

from neuraphage.api.base import ApiBase
from neuraphage.model.admission import AdmissionState, LinePlace


class Admission(ApiBase):
    """Slots and the line (docs/admission.md)."""

    def admission(self) -> AdmissionState:
        """Slots with their limits, and how many wait in which part of the line; empty where nothing is limited.

        Raises:
            StoreUnavailable, StoreError: the state server did not answer.
        """
        return self._ports.reads.admission()

    def line_place(self, task_id: str) -> LinePlace | None:
        """Where a task stands in line; None where it does not.

        Args:
            task_id: its id, or a unique part of it.

        Raises:
            TaskNotFound, BadInput: no task has this in its id, or several have.
            StoreUnavailable, StoreError: the state server did not answer.
        """
        return self._ports.reads.line_place(self.find(task_id))
