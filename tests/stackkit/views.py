"""What tests ask of a stack: tasks, their records and folders, and what reached the model."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Collection
from pathlib import Path
from typing import Any

from neuraphage.client import Client
from neuraphage.dev.stack import StackPlan
from neuraphage.model.effect import JournalEntry
from neuraphage.model.event import Event
from neuraphage.model.task import TaskRecord
from neuraphage.store import invariant, queries
from neuraphage.store.client import translated
from neuraphage.store.tasks import RedisStore
from patience import PATIENCE_S
from stackkit.waiting import LIMIT_S, wait_for
from storekit import StoreKit


class TaskViews:
    """Submits tasks and reads what is known of them; a part of Stack, which sets the fields."""

    folder: Path
    plan: StackPlan
    client: Client
    store: RedisStore
    _numbers: int

    # --- the model ---

    def control_model(self, what: str, body: Any = None) -> Any:
        """Talk to the scripted model: `log`, `reset`, `limit` or `faults`."""
        url = f"http://127.0.0.1:{self.plan.scripted_port}/_control/{what}"
        data = None if what == "log" else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def model_requests(self, task_id: str | None = None) -> list[dict[str, Any]]:
        """What reached the model, oldest first; of one task when its id is given."""
        entries: list[dict[str, Any]] = self.control_model("log")["entries"]
        return entries if task_id is None else [e for e in entries if e["request_id"] in self.request_ids(task_id)]

    def request_ids(self, task_id: str) -> set[str]:
        """Ids of every request of a task."""
        return {e.data["request_id"] for e in self.events(task_id) if e.kind == "RequestSent"}

    # --- tasks ---

    def submit(self, prompt: str, **fields: Any) -> str:
        """Submit a task that may use every tool, in a folder of its own."""
        self._numbers += 1
        folder = self.folder / "work" / str(self._numbers)
        folder.mkdir(parents=True)
        fields = {"working_dir": str(folder), "allow": ("*",), "model": "scripted-1"} | fields
        fields = {"force": True} | fields  # the folder lies in the data folder of the stack
        return self.client.submit(prompt, **fields)

    def work_dir(self, task_id: str) -> Path:
        """A task's folder."""
        return Path(self.store.get(task_id).spec.working_dir or "")

    def lines(self, task_id: str, name: str = "log.txt") -> list[str]:
        """Lines of a file in a task's folder; none when there is no file."""
        return self.lines_of(self.record(task_id), name)

    def lines_of(self, record: TaskRecord, name: str = "log.txt") -> list[str]:
        """As `lines`, of a task that was read before."""
        path = Path(record.spec.working_dir or "") / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def record(self, task_id: str) -> TaskRecord:
        """A task."""
        return self.store.get(task_id)

    def owners(self, task_ids: Collection[str]) -> dict[str, str]:
        """Process id of the present or last holder of each task, read in one round trip."""
        return self._fields(task_ids, "owner")

    def statuses(self, task_ids: Collection[str]) -> dict[str, str]:
        """Status of each task, read in one round trip."""
        return self._fields(task_ids, "status")

    def _fields(self, task_ids: Collection[str], field: str) -> dict[str, str]:
        with translated(f"read {field}"), self.store.context.client.pipeline(transaction=False) as pipe:
            for task_id in task_ids:
                pipe.hget(self.store.context.keys.task(task_id), field)
            values = pipe.execute()
        return {task_id: (value or b"").decode() for task_id, value in zip(task_ids, values, strict=True)}

    def journal(self, task_id: str) -> dict[str, JournalEntry]:
        """A task's journal."""
        return queries.journal(self.store.context, task_id)

    def events(self, task_id: str, kind: str | None = None) -> list[Event]:
        """A task's history; of one kind when given."""
        lines = queries.events(self.store.context, task_id, limit=100_000)
        return [line for line in lines if kind in (None, line.kind)]

    def stories(self, limit: int = 5) -> list[tuple[str, str]]:
        """(title, text) of the newest tasks: record, history and end of the conversation; for a failure."""
        stories = []
        for record in self.client.list(limit=limit):
            lines = [
                f"{record.status} in {record.place}, marker {record.marker.name}, turn {record.counters.iteration}"
            ]
            lines += [f"{e.at_ms} {e.kind} {e.data}" for e in self.events(record.task_id)]
            lines += [str(entry)[-1_000:] for entry in self.client.conversation(record.task_id)[-4:]]
            stories.append((f"story of {record.task_id}", "\n".join(lines)))
        return stories

    def finished(self, *task_ids: str, limit_s: float = LIMIT_S) -> list[TaskRecord]:
        """Wait until tasks are Completed."""
        for task_id in task_ids:
            wait_for(lambda: self.record(task_id).place is None, f"{task_id} to end", limit_s=limit_s, every_s=0.02)  # noqa: B023 - called before the loop goes on
        records = [self.record(task_id) for task_id in task_ids]
        assert [r.status.value for r in records] == ["Completed"] * len(records), [r.detail for r in records]
        return records

    def held(self, *task_ids: str) -> None:
        """Wait until the HELD command of each task runs, for the first time."""
        for task_id in task_ids:
            wait_for(lambda: self.lines(task_id) == ["start"], f"the command of {task_id} to run")  # noqa: B023 - as above

    def let_go(self, *task_ids: str) -> list[TaskRecord]:
        """Let the HELD command of each task end; each has run once, and the tasks are Completed."""
        for task_id in task_ids:
            (self.work_dir(task_id) / "go").touch()
        records = self.finished(*task_ids)
        assert [self.lines(task_id) for task_id in task_ids] == [["start", "end"]] * len(records)
        return records

    def wait_marker(self, task_id: str, name: str) -> TaskRecord:
        """Wait until a task's marker has this name."""
        wait_for(lambda: self.record(task_id).marker.name.value == name, f"{task_id} at {name}")
        return self.record(task_id)

    def pid_of_owner(self, task_id: str) -> int:
        """Process id of the process that holds a task."""
        owner = self.record(task_id).owner
        return next(row.pid for row in self.store.registered() if row.process_id == owner)

    def check(self) -> None:
        """The invariant holds, no key stays for ever, and the model refused nothing."""
        assert invariant.violations(self.store.context) == []
        assert StoreKit(self.store, real=True).leaked_keys() == []
        refused = [e for e in self.model_requests() if e["outcome"].startswith("refused")]
        assert refused == []
