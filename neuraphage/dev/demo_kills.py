"""Whom the demo kills, and when: the owner of the task, in the middle of a reply and in the middle of a test run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from neuraphage.dev.demo_record import EXPECTED_KILLS, KillRecord, runs_command, traits_of
from neuraphage.model.effect import MarkerName
from neuraphage.model.event import Event, EventKind
from neuraphage.model.task import TaskRecord
from neuraphage.ports import Delta
from neuraphage.store.tasks import RedisStore

RUNS_LOG = "test-runs.log"
STREAMED_CHARS = 40
"""So much text of a reply must have been seen before it is interrupted."""
STREAMED_LOOKS = 4
"""And it must have come in so many pieces: a reply that was there at once is over before a kill can cut it."""


class Killer:
    """Kills the task's worker twice with -9.

    Args:
        store: knows the owner and the workers.
        workspace: the copied project, whose log tells when its tests have begun.
        tell: told of every kill.
    """

    def __init__(self, store: RedisStore, workspace: Path, tell: Callable[[str], None]) -> None:
        self.kills: list[KillRecord] = []
        self._store = store
        self._workspace = workspace
        self._tell = tell
        self._chars = 0
        self._looks = 0
        self._has_edited = False
        self._ended_runs = 0

    def saw(self, items: Sequence[Event | Delta]) -> None:
        """Take in what one look at the task has shown. It may be newer than the record of the same look."""
        text = 0
        for item in items:
            if isinstance(item, Delta):
                text += len(item.text) if item.kind == "text" else 0
            else:
                text = self._saw_event(item, text)
        self._chars += text
        self._looks += text > 0

    def _saw_event(self, event: Event, text: int) -> int:
        if event.kind in {EventKind.REQUEST_SENT, EventKind.RESPONSE_RECEIVED}:  # a reply begins, or is over
            self._chars, self._looks, text = 0, 0, 0
        elif event.kind == EventKind.TOOL_COMPLETED:
            self._has_edited |= traits_of(event.data["tool"]).change is not None
            self._ended_runs += runs_command(event.data["tool"])
        return text

    def maybe_kill(self, record: TaskRecord) -> None:
        """Kill the owner if this is the moment.

        Args:
            record: the task as it is now.
        """
        marker = record.marker
        if not self.kills:
            if marker.name is MarkerName.REQUEST_SENT and self._is_streaming():
                self._kill(record, "a reply streamed")
        elif len(self.kills) < EXPECTED_KILLS and marker.name is MarkerName.TOOL_STARTED:
            # the project's log shows one start more than ended runs: the run in hand has really begun
            begun = runs_command(marker.tool) and started_runs(self._workspace) > self._ended_runs
            if self._has_edited and begun:
                self._kill(record, "its tests ran")

    def _is_streaming(self) -> bool:
        return self._chars >= STREAMED_CHARS and self._looks >= STREAMED_LOOKS

    def _kill(self, record: TaskRecord, while_what: str) -> None:
        pids = {row.process_id: row.pid for row in self._store.registered()}
        pid = pids.get(record.owner or "")
        if pid is None:
            return
        at_ms = self._store.now_ms()
        os.kill(pid, signal.SIGKILL)
        self.kills.append(KillRecord(while_what, pid, at_ms, fence=record.fence))
        self._tell(f"kill -9 {pid}: the worker dies while {while_what}")


def started_runs(workspace: Path) -> int:
    """How often the project's tests were started, by the project's own log."""
    try:
        return len((workspace / RUNS_LOG).read_text(encoding="utf-8").splitlines())
    except FileNotFoundError:
        return 0
