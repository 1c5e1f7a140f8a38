"""What the demo's kills cost, computed from the durable record. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from neuraphage.model.event import Event, EventKind
from neuraphage.model.task import CompletedDetail, FailedDetail, Status, TaskRecord
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS

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
class Finding:
    """One line of the table: what was measured, what came out, what was promised, and whether that holds."""

    what: str
    value: str
    promise: str
    holds: bool = True


@dataclass(frozen=True, slots=True)
class DemoRecord:
    """The outcome.

    Args:
        status: where the task ended.
        summary: its own last words, or its error.
        kills: what was killed and how fast work went on.
        replies: committed replies.
        calls_paid_twice: calls made again although their reply was committed.
        calls_resent: calls sent again because what became of their reply is not known.
        commands: test runs with a result.
        commands_run_twice: test runs that were started again because a kill lost their result.
        cost_microusd: cost of the replies, as the task counts it.
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
    def findings(self) -> list[Finding]:
        """The table, top to bottom."""
        found = [
            Finding(
                f"killed while {kill.while_what}: went on after",
                "never" if kill.resumed_s is None else f"{kill.resumed_s:.2f} s",
                "it goes on",
                kill.resumed_s is not None,
            )
            for kill in self.kills
        ]
        made = len(self.kills)
        return [
            *found,
            Finding("kills with -9", str(made), str(EXPECTED_KILLS), made == EXPECTED_KILLS),
            Finding("replies committed", str(self.replies), "-"),
            Finding("committed replies paid again", str(self.calls_paid_twice), "0", not self.calls_paid_twice),
            Finding("replies asked for again after a kill", str(self.calls_resent), "0", not self.calls_resent),
            Finding("test runs with a result", str(self.commands), "-"),
            Finding("commands started again", str(self.commands_run_twice), "0", not self.commands_run_twice),
            Finding("cost", f"${self.cost_microusd / 1_000_000:.4f}", "-"),
            Finding("the task is", self.status.value, "Completed", self.status is Status.COMPLETED),
            Finding("the project's own tests", "pass" if self.tests_pass else "fail", "pass", self.tests_pass),
        ]

    @property
    def failures(self) -> list[str]:
        """Why the demo does not hold, one sentence each; empty when it does."""
        found = [f"{f.what}: {f.value}, promised: {f.promise}" for f in self.findings if not f.holds]
        if self.status is not Status.COMPLETED:
            found.append(f"the task's last word: {self.summary}")
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
    finished = [e for e in events if e.kind == EventKind.TOOL_COMPLETED and runs_command(e.data["tool"])]
    conclusive = [e for e in finished if not e.data["unknown"]]
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
        kills=tuple(_with_resumption(kill, events) for kill in kills),
        replies=record.counters.model_calls,
        calls_paid_twice=calls_paid_twice(events),
        calls_resent=record.counters.model_resends,
        commands=len(conclusive),
        commands_run_twice=max(0, starts - len(conclusive)),
        cost_microusd=record.counters.cost_microusd,
        tests_pass=tests_pass,
    )


def runs_command(tool: str | None) -> bool:
    """Whether a call of this tool is a command, as the runs of the project's tests are."""
    return traits_of(tool).command is not None


def traits_of(tool: str | None) -> ToolTraits:
    """What the calls of a built-in tool mean; the demo has no other ones."""
    return BUILTIN_TRAITS.get(tool or "", ToolTraits())


def calls_paid_twice(events: Sequence[Event]) -> int:
    """Calls sent or committed again under a request whose reply was committed before.

    Args:
        events: the task's history, oldest first.
    """
    committed: set[str] = set()
    again = 0
    for event in events:
        if event.kind not in {EventKind.REQUEST_SENT, EventKind.RESPONSE_RECEIVED}:
            continue
        request_id = str(event.data["request_id"])
        again += request_id in committed
        if event.kind == EventKind.RESPONSE_RECEIVED:
            committed.add(request_id)
    return again


def _with_resumption(kill: KillRecord, events: Sequence[Event]) -> KillRecord:
    later = [
        e for e in events if e.kind in {EventKind.TASK_STARTED, EventKind.TASK_RESUMED} and e.data["fence"] > kill.fence
    ]
    return replace(kill, resumed_s=((later[0].at_ms or 0) - kill.at_ms) / 1000) if later else kill
