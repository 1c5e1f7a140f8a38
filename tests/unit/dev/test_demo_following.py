"""How the demo follows its task: as `run` and `attach` do, through the application service, and whom it kills when."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apikit import ApiBench
from neuraphage.dev import demo_kills
from neuraphage.dev.demo import Show, follow_and_kill
from neuraphage.dev.demo_kills import RUNS_LOG, STREAMED_CHARS, STREAMED_LOOKS, Killer
from neuraphage.model.effect import Marker, MarkerName
from neuraphage.model.event import Event
from neuraphage.model.task import Status, TaskRecord
from neuraphage.ports import Delta
from patience import PATIENCE_S

PIECE = Delta("text", "x" * STREAMED_CHARS)


class Shown(Show):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def event(self, event: Event) -> None:
        self.kinds.append(event.kind)


class Looks(Killer):
    """Kills nobody; notes each look. After the first one the server is away once, after the second the task ends."""

    def __init__(self, bench: ApiBench, task_id: str, path: Path) -> None:
        super().__init__(SimpleNamespace(), path, print)  # type: ignore[arg-type]
        self.bench, self.task_id = bench, task_id
        self.looks: list[tuple[int, Status]] = []

    def saw(self, items: Any) -> None:
        self.count = len(items)

    def maybe_kill(self, record: TaskRecord) -> None:
        self.looks.append((self.count, record.status))
        if len(self.looks) == 1:
            self.bench.rows.away = 1
        elif len(self.looks) == 2:
            self.bench.rows.complete(self.task_id)


def followed(bench: ApiBench, task_id: str, killer: Killer, **limits: float) -> tuple[TaskRecord, list[str]]:
    shown = Shown()
    usual = {"patience_s": PATIENCE_S, "deadline_s": time.monotonic() + PATIENCE_S}
    record = follow_and_kill(bench.api, task_id, killer, shown, **(usual | limits))
    return record, shown.kinds


def test_it_shows_the_task_to_its_end_and_the_killer_sees_each_look_first(tmp_path: Path) -> None:
    """Each look once, with its record; an outage of the server in between ends nothing."""
    bench = ApiBench()
    task_id = bench.api.submit("x")
    killer = Looks(bench, task_id, tmp_path)
    record, kinds = followed(bench, task_id, killer)
    assert record.status is Status.COMPLETED
    assert kinds == ["TaskCreated", "TaskCompleted"]
    assert killer.looks[:2] == [(1, Status.QUEUED), (0, Status.QUEUED)]
    assert sum(count for count, _ in killer.looks) == len(kinds)


@pytest.mark.parametrize("limits", [{"patience_s": 0.0}, {"deadline_s": 0.0}])
def test_a_task_to_which_nothing_happens_is_given_up(tmp_path: Path, limits: dict[str, float]) -> None:
    """After the patience for nothing at all, or at the deadline; it is returned as it stands."""
    bench = ApiBench()
    task_id = bench.api.submit("x")
    record, _ = followed(bench, task_id, Looks(bench, task_id, tmp_path), **limits)
    assert record.status is Status.QUEUED


def test_a_paused_task_is_followed_no_further(tmp_path: Path) -> None:
    """Nobody would resume it."""
    bench = ApiBench()
    task_id = bench.api.submit("x")
    bench.rows.tasks[task_id] = bench.rows.tasks[task_id].model_copy(update={"status": Status.PAUSED})
    assert followed(bench, task_id, Looks(bench, task_id, tmp_path))[0].status is Status.PAUSED


class KillerBench:
    """A killer, a worker that it may kill, and what it has sent."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[tuple[int, int]] = []
        monkeypatch.setattr(demo_kills.os, "kill", lambda *given: self.sent.append(given))
        rows = [SimpleNamespace(process_id="one", pid=4711)]
        store: Any = SimpleNamespace(registered=lambda: rows, now_ms=lambda: 1)
        self.folder, self.killer = folder, Killer(store, folder, lambda _: None)
        bench = ApiBench()
        self._record = bench.api.get(bench.api.submit("x")).model_copy(update={"owner": "one"})

    def at(self, marker: MarkerName, tool: str | None = None) -> TaskRecord:
        return self._record.model_copy(update={"marker": Marker(name=marker, tool=tool)})

    def streamed(self) -> None:
        for _ in range(STREAMED_LOOKS):
            self.killer.saw([PIECE])


def test_it_kills_in_the_midst_of_a_reply_and_of_a_test_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, and each only when it has really begun."""
    bench = KillerBench(tmp_path, monkeypatch)
    streaming, running = bench.at(MarkerName.REQUEST_SENT), bench.at(MarkerName.TOOL_STARTED, "run_command")
    bench.killer.maybe_kill(streaming)
    assert not bench.sent, "nothing has come yet"
    bench.streamed()
    bench.killer.maybe_kill(streaming)
    (tmp_path / RUNS_LOG).write_text("begun\n", encoding="utf-8")
    bench.killer.saw([Event(kind="ToolCompleted", data={"tool": "read_file"})])
    bench.killer.maybe_kill(running)
    assert len(bench.sent) == 1, "nothing has been changed"
    (tmp_path / RUNS_LOG).unlink()
    bench.killer.saw([Event(kind="ToolCompleted", data={"tool": "edit"})])
    bench.killer.maybe_kill(running)
    assert len(bench.sent) == 1, "no test run has begun"
    (tmp_path / RUNS_LOG).write_text("begun\n", encoding="utf-8")
    bench.killer.maybe_kill(running)
    assert bench.sent == [(4711, signal.SIGKILL)] * 2


def test_a_reply_that_is_over_is_not_killed_by_an_older_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of a look may be newer than its record, which still says that the reply streams."""
    bench = KillerBench(tmp_path, monkeypatch)
    bench.streamed()
    bench.killer.saw([PIECE, Event(kind="ResponseReceived", data={})])
    bench.killer.maybe_kill(bench.at(MarkerName.REQUEST_SENT))
    assert not bench.sent
