"""What a sweep has decided, sorted for the report that it keeps."""

from __future__ import annotations

from neuraphage.model.effect import MarkerName
from neuraphage.model.recovery import RecoveryDecision, RecoveryReport
from neuraphage.ports import Recovered, RecoverVerdict


def build_report(
    now_ms: int, duration_ms: int, verdicts: list[Recovered], *, republished: int, fired: int
) -> RecoveryReport:
    """Sort the answers of recover into a report."""
    by_kind: dict[str, list[RecoveryDecision]] = {
        "resumable": [],
        "requeued": [],
        "failed": [],
        "paused": [],
        "suspect": [],
        "other": [],
    }
    names = {
        RecoverVerdict.FAILED: "failed",
        RecoverVerdict.PAUSED: "paused",
        RecoverVerdict.SUSPECT: "suspect",
        RecoverVerdict.CANCELLED: "other",
    }
    for answer in verdicts:
        if answer.decision is None:
            continue  # STALE: nothing was decided
        begun = answer.decision.marker != MarkerName.TASK_CREATED or answer.decision.iteration > 0
        name = names.get(answer.verdict, "resumable" if begun else "requeued")
        by_kind[name].append(answer.decision)
    return RecoveryReport(
        swept_at_ms=now_ms,
        duration_ms=duration_ms,
        republished=republished,
        fired=fired,
        **{name: tuple(rows) for name, rows in by_kind.items()},
    )
