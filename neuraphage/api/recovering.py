"""Tasks that a person puts back to work by hand: as every retry and reset, and told in the report of recoveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from neuraphage.api.tasks import Tasks

if TYPE_CHECKING:
    from neuraphage.model.task import TaskRecord
    from neuraphage.ports import Signalled

PutBack: TypeAlias = Literal["resume", "retry", "reset"]


class Recovering(Tasks):
    """Requests that a report of recoveries is to tell of. See `Tasks` for the errors."""

    def put_back(self, record: TaskRecord, verb: PutBack) -> Signalled:
        """Carry out what a person orders, and note it for the report.

        Args:
            record: the task before it.
            verb: resume, retry or reset.

        Raises:
            IllegalMove, LimitReached: see `resume`, `retry` and `reset`; nothing is noted. Else see the class.
        """
        from neuraphage.model.recovery import Evidence, RecoveryDecision  # noqa: PLC0415 - only where a person recovers

        done = {"resume": self.resume, "retry": self.retry, "reset": self.reset}[verb](record.task_id)
        self._ports.reads.note_recovery(
            RecoveryDecision(
                task_id=record.task_id,
                verdict=verb,
                evidence=Evidence.PERSON,
                marker=record.marker.name.value,
                iteration=record.counters.iteration,
                reason=f"a person gave the command to {verb} it; it was {record.status.value}",
            )
        )
        return done
