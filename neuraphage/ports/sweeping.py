"""What the sweep and the watcher see: leases, places, processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from neuraphage.model.recovery import Evidence, RecoveryDecision, RecoveryReport
from neuraphage.ports.people import NextTurn, Signal, Signalled
from neuraphage.ports.scheduling import DueSchedule


class RecoverVerdict(StrEnum):
    """Answers of recover."""

    RECOVERED = "RECOVERED"
    SUSPECT = "SUSPECT"
    """First visit of an expired lease: marked, not taken."""
    PAUSED = "PAUSED"
    """Taken, and left to a person by policy or by a pause that was asked for."""
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    STALE = "STALE"
    """Nothing to recover: it was renewed, finished or recovered meanwhile."""


@dataclass(frozen=True, slots=True)
class HeldTask:
    """A member of leases as the sweep sees it.

    Args:
        task_id: the task.
        fence, claim_id: the lease it would take, as stored; another one by then is left alone. They are only
            compared: a broken one is recover's to tell.
        owner: process id of the holder.
        expires_ms: server time.
    """

    task_id: str
    fence: str
    claim_id: str
    owner: str
    expires_ms: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """Answer of recover: verdict, decision, the next message where the task goes on, and those of other tasks that had
    waited for its end.
    """

    verdict: RecoverVerdict
    decision: RecoveryDecision | None = None
    seq: int = 0
    iteration: int = 0
    woken: tuple[NextTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One registered worker process.

    Args:
        process_id: random, new at every start.
        host: host identity (boot and pid namespace).
        pid: process number on that host.
        start_time: its start, to tell a reused pid.
        started_at_ms: server time of registration.
        spool: identity of the spool folder it can reach; empty when it has none. Containers of one machine are
            different hosts and may share a folder.
    """

    process_id: str
    host: str
    pid: int
    start_time: float
    started_at_ms: int
    spool: str = ""


class SpoolWatch(Protocol):
    """What the watcher may do to commands of this host."""

    @property
    def identity(self) -> str:
        """Name of the spool folder, as processes that can reach it give it in their row."""
        ...

    def running(self) -> list[tuple[str, str]]:
        """(effect id, task id) of every command in this folder that runs."""
        ...

    def revoke(self, effect_id: str) -> object:
        """End a command whose task has moved to where the folder cannot be reached, or is over."""
        ...

    def expire(self, older_than_s: float) -> int:
        """Delete records of commands that ended so long ago; returns how many."""
        ...


class SweepStore(Protocol):
    """What the sweep and the watcher read and write. Every write is one atomic script, safe to repeat."""

    def now_ms(self) -> int:
        """Server time, milliseconds."""
        ...

    def held_tasks(self, *, until_ms: int | None, limit: int) -> list[HeldTask]:
        """Leases that expired by then (None: all leases), oldest first."""
        ...

    def recover(self, held: HeldTask, evidence: Evidence) -> Recovered:
        """Take one lease away: evidence is expired, stalled, gone or absent."""
        ...

    def due_outbox(self, until_ms: int, limit: int) -> list[str]:
        """Tasks whose next publish time has come."""
        ...

    def republish(self, task_id: str, ahead_ms: int = 0) -> NextTurn | None:
        """Raise the publish time, doubling; the message to send, or None if it was claimed meanwhile."""
        ...

    def due_timers(self, until_ms: int, limit: int) -> list[str]:
        """Tasks whose timer has come."""
        ...

    def blocked_since(self, until_ms: int, limit: int) -> list[str]:
        """Blocked tasks due for their fallback poll."""
        ...

    def fire(self, task_id: str, source: str) -> NextTurn | None:
        """Move a due timer (`timers`) or a blocked task (`blocked`) to the outbox."""
        ...

    def adjust(self) -> tuple[NextTurn, ...]:
        """Have the settings' limits of tasks at work hold; messages of those in line that begin, some at a time."""
        ...

    def due_schedules(self, until_ms: int) -> list[DueSchedule]:
        """Schedules whose time has come."""
        ...

    def occur(self, due: DueSchedule) -> NextTurn | None:
        """Make the task of one time of a schedule, and set its next time; the message to send, if the task has one.

        Raises:
            BadInput: this machine knows no such zone.
        """
        ...

    def due_deadlines(self, until_ms: int, limit: int) -> list[tuple[str, str, str]]:
        """(task, prompt, default answer) of prompts whose deadline has passed."""
        ...

    def signal(self, task_id: str, sent: Signal) -> Signalled:
        """Answer a prompt for a person who did not."""
        ...

    def due_retention(self, until_ms: int, limit: int) -> list[str]:
        """Ended tasks whose index entries go."""
        ...

    def delete(self, task_id: str, *, force: bool = False) -> bool:
        """Remove an ended task; its id stays as a tombstone."""
        ...

    def expire_tombstones(self, until_ms: int) -> int:
        """Forget tombstones that are due."""
        ...

    def save_report(self, report: RecoveryReport) -> None:
        """Note the sweep; keep the report if it is not empty."""
        ...

    def last_sweep_ms(self) -> int:
        """When a sweep last ended, server time; 0 for never."""
        ...

    def begin_sweep(self, guard_ms: int) -> bool:
        """Whether no other sweep began within `guard_ms` (economy only; two sweeps are harmless)."""
        ...

    def audit(self) -> list[tuple[str, str]]:
        """Hold the next part of the keys against the records: (task or key, what is wrong with it)."""
        ...

    def memory_percent(self) -> float | None:
        """The used share of the memory that the server may take; None where there is no limit, or it is not told."""
        ...

    def check_access(self) -> bool:
        """See that the server lets this user run every command; raises AccessRefused."""
        ...

    def register(self, row: ProcessRow) -> None:
        """Enter a worker process."""
        ...

    def unregister(self, process_ids: Sequence[str]) -> None:
        """Remove processes that left or are gone."""
        ...

    def registered(self) -> list[ProcessRow]:
        """All registered processes."""
        ...

    def whereabouts(self, task_ids: Sequence[str]) -> dict[str, str]:
        """For each task: `over` when it has ended or is gone, the spool its lease holder can reach, or empty."""
        ...

    def connected(self) -> frozenset[str]:
        """Process ids whose presence connection stands now."""
        ...
