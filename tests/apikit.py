"""The application service on ports that a test plays by hand: no server, no broker, no file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from neuraphage.api import Api, ApiPorts
from neuraphage.decide.files_seen import SeenFile
from neuraphage.errors import StoreUnavailable, TaskNotFound
from neuraphage.model.admission import AdmissionState, LinePlace
from neuraphage.model.attachment import Attachment
from neuraphage.model.capacity import GateView
from neuraphage.model.effect import JournalEntry, Marker, MarkerName
from neuraphage.model.event import Event
from neuraphage.model.explanation import TaskFacts
from neuraphage.model.place import Place
from neuraphage.model.recovery import LoggedDecision, RecoveryDecision, RecoveryReport
from neuraphage.model.rule import Rule
from neuraphage.model.task import CompletedDetail, QueuedDetail, Status, TaskRecord, TaskSpec
from neuraphage.model.tool import FileSight
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.model.usage import Counters
from neuraphage.ports import Created, Delta, NextTurn, Signal, Signalled, SignalVerdict
from neuraphage.settings import Settings
from neuraphage.testing import ManualClock
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS


class Rows:
    """Implements ports.TaskStore and ports.ReadStore in memory. `away` reads fail before one is answered."""

    def __init__(self) -> None:
        self.tasks: dict[str, TaskRecord] = {}
        self.lines: dict[str, list[Event]] = {}
        self.journals: dict[str, dict[str, JournalEntry]] = {}
        self.entries: list[dict[str, Any]] = []
        self.noted: list[RecoveryDecision] = []
        self.sent: list[Signal] = []
        self.blocked_ms: list[int] = []
        self.read: list[str] = []
        self.away = 0

    def create(self, spec: TaskSpec, key: str, attachments: Sequence[Attachment] = ()) -> Created:
        detail, marker = QueuedDetail(queued_at_ms=0), Marker(name=MarkerName.TASK_CREATED)
        self.tasks[spec.task_id] = TaskRecord(
            spec=spec,
            status=Status.QUEUED,
            detail=detail,
            marker=marker,
            counters=Counters(),
            seq=1,
            fence=0,
            place=Place.OUTBOX,
            limits=spec.limits,
        )
        self.lines[spec.task_id] = []
        self.write(spec.task_id, "TaskCreated")
        return Created(True, spec.task_id, NextTurn(spec.task_id, 1, 0))

    def signal(self, task_id: str, sent: Signal) -> Signalled:
        self.sent.append(sent)
        return Signalled(SignalVerdict.ACCEPTED, Status.QUEUED, Place.OUTBOX, 2, 0)

    def get(self, task_id: str) -> TaskRecord:
        self._look("get")
        if task_id not in self.tasks:
            raise TaskNotFound(task_id)
        return self.tasks[task_id]

    def find(self, part: str) -> str:
        return next(task_id for task_id in self.tasks if part in task_id)

    def records(self, *, oldest_first: bool = False) -> Iterator[TaskRecord]:
        found = list(self.tasks.values())
        return iter(found if oldest_first else found[::-1])

    def asking(self, limit: int) -> Sequence[TaskRecord]:
        self._look("asking")
        return [record for record in self.tasks.values() if record.prompts][:limit]

    def dependants(self, task_id: str, limit: int) -> Sequence[str]:
        waiting = (task for task in self.tasks.values() if any(e.task_id == task_id for e in task.spec.blocked_by))
        return [task.task_id for task in waiting][:limit]

    def conversation(self, task_id: str, first: int = 0) -> Sequence[dict[str, Any]]:
        self._look("conversation")
        return self.entries[first:]

    def journal(self, task_id: str) -> dict[str, JournalEntry]:
        self._look("journal")
        return self.journals.get(task_id, {})

    def events(self, task_id: str, *, after: str, block_ms: int | None = None) -> Sequence[Event]:
        self._look("events")
        if block_ms is not None:
            self.blocked_ms.append(block_ms)
        return [line for line in self.lines[task_id] if int(line.event_id or 0) > int(after)]

    def task_facts(self, task_id: str) -> TaskFacts:
        return TaskFacts(record=self.get(task_id), now_ms=0)

    def decisions(self, task_id: str) -> Sequence[LoggedDecision]:
        return ()

    def admission(self) -> AdmissionState:
        return AdmissionState()

    def line_place(self, task_id: str) -> LinePlace | None:
        return None

    def capacity(self) -> Sequence[GateView]:
        return []

    def counts(self) -> dict[str, int]:
        return {"Queued": len(self.tasks)}

    def last_report(self) -> RecoveryReport | None:
        return None

    def note_recovery(self, decision: RecoveryDecision) -> None:
        self.noted.append(decision)

    def watch(self, task_id: str) -> None:
        self._look("watch")

    def snapshot(self, task_id: str, after_event: str, after_delta: str) -> list[tuple[str, Event | Delta]]:
        found = self.events(task_id, after=after_event)
        return [(line.event_id or "", line) for line in found]

    def _look(self, what: str) -> None:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("away")
        self.read.append(what)

    # --- what the workers do meanwhile ---

    def write(self, task_id: str, kind: str) -> None:
        lines = self.lines[task_id]
        lines.append(Event(kind=kind, event_id=str(len(lines) + 1), at_ms=len(lines)))

    def complete(self, task_id: str) -> None:
        over = {
            "status": Status.COMPLETED,
            "detail": CompletedDetail(completed_at_ms=1, summary="Done.", iterations=1, total_cost_microusd=1),
        }
        self.tasks[task_id] = self.tasks[task_id].model_copy(update=over)
        self.write(task_id, "TaskCompleted")


class Sent:
    """Implements ports.Waker: what was sent, in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        self.calls.append(f"publish {after}")
        return True

    def queue_length(self) -> int | None:
        return None

    def check(self) -> None:
        self.calls.append("check")

    def prepare(self) -> None:
        self.calls.append("prepare")

    def close(self) -> None:
        self.calls.append("close")


class Hidden:
    """Implements ports.Redaction: one word is a secret."""

    def text(self, text: str) -> str:
        return text.replace("pa55word", "***")


class Files:
    """Implements ports.WorkingFiles: one folder, whose files are as approved or not."""

    def __init__(self) -> None:
        self.same: bool | None = True
        self.here = True
        self.wide: str | None = None

    def too_wide(self, folder: str, data_dir: Path) -> str | None:
        return self.wide

    def is_here(self, folder: str) -> bool:
        return self.here

    def text(self, path: str, folder: str | None) -> str | None:
        return None

    def is_absent(self, path: str, folder: str | None) -> bool:
        return False

    def place(self, path: str, folder: str) -> str:
        return f"{folder}/{path}"

    def is_as_approved(self, approved: FileSight, folder: str, seen: SeenFile | None) -> bool | None:
        return self.same


class ApiBench:
    """The service, and all that it stands on."""

    def __init__(self) -> None:
        self.rows, self.waker, self.files = Rows(), Sent(), Files()
        self.redactions: list[Hidden] = []
        self.closed: list[str] = []
        self.made_rules: list[tuple[str, str | None]] = []
        ids, keys = count(1), count(1)
        self.ports = ApiPorts(
            settings=Settings(),
            tasks=self.rows,
            reads=self.rows,
            waker=self.waker,
            redaction=self._redaction,
            files=self.files,
            add_rule=self._add_rule,
            traits=lambda tool: BUILTIN_TRAITS.get(tool, ToolTraits()),
            clock=ManualClock(),
            new_task_id=lambda: f"task-{next(ids):08x}-0000-7000-8000-000000000000",
            new_key=lambda: f"key-{next(keys)}",
            who="anna",
            close=lambda: self.closed.append("store"),
        )
        self.api = Api(self.ports)

    def _add_rule(self, rule: Rule, directory: str | None) -> bool:
        self.made_rules.append((str(rule), directory))
        return True

    def _redaction(self) -> Hidden:
        self.redactions.append(Hidden())
        return self.redactions[-1]
