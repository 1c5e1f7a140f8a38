"""Tasks that a person puts back to work by hand: as every retry and reset, and told in the report of recoveries."""

from __future__ import annotations

from neuraphage.api.application import Api
from neuraphage.model.recovery import RecoveryDecision
from neuraphage.model.task import TaskRecord


def put_back(api: Api, record: TaskRecord, verb: str) -> None:
    """Carry out what a person orders, and note it for the report.

    Args:
        api: sends and notes.
        record: the task before it.
        verb: resume, retry or reset.

    Raises:
        IllegalMove, LimitReached, StoreUnavailable, StoreError: see `Tasks`.
    """
    {"resume": api.resume, "retry": api.retry, "reset": api.reset}[verb](record.task_id)
    decision = RecoveryDecision(
        task_id=record.task_id,
        verdict=verb,
        evidence="person",
        marker=record.marker.name.value,
        iteration=record.counters.iteration,
        reason=f"a person gave the command to {verb} it; it was {record.status.value}",
    )
    api._ports.reads.note_recovery(decision)
