"""What the demo's kills cost, computed from the durable record. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from neuraphage.model.prompt import Event
from neuraphage.model.task import CompletedDetail, FailedDetail, Status, TaskRecord

EXPECTED_KILLS = 2


@dataclass(frozen=True, slots=True)
class KillRecord:
    """One kill.

    Args:
        while_what: what the worker was doing.
        pid: the worker.
        at_ms: server time.
        fence: the lease it held.
        resumed_s: seconds until another worker claimed the task; None if none did.
    """

    while_what: str
    pid: int
    at_ms: int
    fence: int
    resumed_s: float | None = None


@dataclass(frozen=True, slots=True)
class DemoRecord:
    """The outcome.

    Args:
        status: where the task ended.
        summary: its own last words, or its error.
        kills: what was killed and how fast work went on.
        replies: committed replies.
        calls_paid_twice: requests with more than one committed reply.
        calls_resent: calls sent again because a kill cut their reply off.
        commands: test runs with a result.
        commands_run_twice: test runs that were started again because a kill lost their result.
        cost_microusd: cost of the committed replies.
        tests_pass: whether the project's own tests pass now.
    """

    status: Status
    summary: str
    kills: tuple[KillRecord, ...]
    replies: int
    calls_paid_twice: int
    calls_resent: int
    commands: int
    commands_run_twice: int
    cost_microusd: int
    tests_pass: bool

    @property
    def failures(self) -> list[str]:
        """Why the demo does not hold, one sentence each; empty when it does."""
        found = []
        if self.status is not Status.COMPLETED:
            found.append(f"the task is {self.status.value}, not Completed: {self.summary}")
        if not self.tests_pass:
            found.append("the project's own tests do not pass")
        if len(self.kills) < EXPECTED_KILLS:
            found.append(f"only {len(self.kills)} of {EXPECTED_KILLS} kills could be made")
        found += [f"nobody went on after the kill while {k.while_what}" for k in self.kills if k.resumed_s is None]
        if self.calls_paid_twice:
            found.append(f"{self.calls_paid_twice} committed replies were paid twice")
        if self.commands_run_twice:
            found.append(f"{self.commands_run_twice} commands had to be started again")
        return found

    @property
    def holds(self) -> bool:
        """Whether everything promised came true."""
        return not self.failures


def demo_record(
    record: TaskRecord, events: Sequence[Event], kills: Sequence[KillRecord], starts: int, *, tests_pass: bool
) -> DemoRecord:
    """Read the cost of the kills from the task's record and history.

    Args:
        record: the task.
        events: its history, oldest first.
        kills: what was killed.
        starts: how often the project's tests were started, by its own log.
        tests_pass: whether its tests pass now.
    """
    replies = Counter(e.data["request_id"] for e in events if e.kind == "ResponseReceived")
    finished = [e for e in events if e.kind == "ToolCompleted" and e.data["tool"] == "run_command"]
    conclusive = [e for e in finished if not e.data["unknown"]]
    claims = [e for e in events if e.kind == "TaskStarted"]
    resumed = []
    for kill in kills:
        later = [e for e in claims if e.data["fence"] > kill.fence]
        after_s = ((later[0].at_ms or 0) - kill.at_ms) / 1000 if later else None
        resumed.append(KillRecord(kill.while_what, kill.pid, kill.at_ms, kill.fence, after_s))
    match record.detail:
        case CompletedDetail():
            summary = record.detail.summary
        case FailedDetail():
            summary = record.detail.error
        case _:
            summary = f"last marker {record.marker.name.value}"
    return DemoRecord(
        status=record.status,
        summary=summary,
        kills=tuple(resumed),
        replies=record.counters.model_calls,
        calls_paid_twice=sum(1 for count in replies.values() if count > 1),
        calls_resent=record.counters.model_resends,
        commands=len(conclusive),
        commands_run_twice=max(0, starts - len(conclusive)),
        cost_microusd=record.counters.cost_microusd,
        tests_pass=tests_pass,
    )
