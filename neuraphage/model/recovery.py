"""What a sweep found and did."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.model.base import SCHEMA_VERSION, Frozen


class Evidence(StrEnum):
    """What a decision about a task was made on. The first four take a lease away."""

    EXPIRED = "expired"
    """Its lease was late, at two visits."""
    STALLED = "stalled"
    """The same, and its process was seen to live."""
    GONE = "gone"
    """Its process was seen to be gone."""
    ABSENT = "absent"
    """Its process was not seen for long; its old deadline still counts."""
    PERSON = "person"
    """Somebody asked for it."""
    DUE = "due"
    """Its time had come."""
    QUIET = "quiet"
    """The broker's queue was empty."""
    POLL = "poll"
    """It had been blocked for a while."""


class RecoveryDecision(Frozen):
    """One decision about one task, with the facts it was made from.

    Args:
        task_id: the task.
        verdict: suspect, recovered, failed, paused, cancelled, republished, fired, deadline.
        evidence: of Evidence; empty where it was decided on the record alone.
        marker: the task's marker then.
        iteration: its finished turns.
        cost_microusd: its cost.
        owner: the former holder's process id.
        lease_age_ms: claim clock: how long the lease had been over (negative: time left).
        heartbeat_age_ms: progress clock: age of the last renewal or commit.
        saved_age_ms: checkpoint clock: age of the last commit.
        dispatch_age_ms: dispatch clock: how long its message had waited for a claim.
        publications: how often the sweep had sent this message, this time included.
        publications_of: which message, by the task's seq.
        next_due_ms: server time of the next publication.
        recoveries: recoveries since the last outcome commit.
        reason: the decision in a plain sentence.
        at_ms: server time of the decision, in a report.
    """

    task_id: str
    verdict: str
    evidence: str = ""
    marker: str = ""
    iteration: int = 0
    cost_microusd: int = 0
    owner: str | None = None
    lease_age_ms: int | None = None
    heartbeat_age_ms: int | None = None
    saved_age_ms: int | None = None
    dispatch_age_ms: int | None = None
    publications: int = 0
    publications_of: int | None = None
    next_due_ms: int | None = None
    recoveries: int = 0
    reason: str = ""
    at_ms: int | None = None


class LoggedDecision(Frozen):
    """A decision of the sweep or a watcher, as it was kept.

    Args:
        at_ms: server time.
        reading: what was decided, and from what.
    """

    at_ms: int
    reading: RecoveryDecision


class RecoveryReport(Frozen):
    """What was recovered of late, whoever did it: a sweep, a watcher, a prefork parent, a person.

    Args:
        swept_at_ms: server time of the newest decision in it.
        duration_ms: how long the last sweep took that found something.
        resumable: tasks that go on from their marker.
        requeued: tasks that had not begun and start over.
        failed: tasks given up, with reason.
        paused: orphans left to a person by `recovery.policy`.
        suspect: leases past their expiry, seen for the first time.
        republished: outbox entries published again.
        fired: timers that came due.
        other: everything else, see each verdict.
        schema_version: version of this shape.
    """

    swept_at_ms: int
    duration_ms: int = 0
    resumable: tuple[RecoveryDecision, ...] = ()
    requeued: tuple[RecoveryDecision, ...] = ()
    failed: tuple[RecoveryDecision, ...] = ()
    paused: tuple[RecoveryDecision, ...] = ()
    suspect: tuple[RecoveryDecision, ...] = ()
    republished: int = 0
    fired: int = 0
    other: tuple[RecoveryDecision, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to do for any orphan."""
        return not (self.resumable or self.requeued or self.failed or self.paused or self.suspect)
