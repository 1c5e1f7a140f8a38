"""The demo: a real stack, a broken project, two kills with -9, and what they cost.

Everything it reports about the task is read from the durable record (the task's history and record), not from
what this process believes. It holds only if the project's own tests pass at the end, no committed reply was
paid twice, no command was started again, and every kill was followed by work going on.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path

from pydantic import SecretStr

from neuraphage.dev.demo_record import DemoRecord, KillRecord, demo_record
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.stack import StackPlan, make_folders, stack_specs
from neuraphage.dev.supervisor import Supervisor
from neuraphage.model.effect import MarkerName
from neuraphage.model.prompt import Event
from neuraphage.model.task import TERMINAL, Status, TaskRecord, TaskSpec
from neuraphage.ports import Delta
from neuraphage.queue import CeleryDispatcher, make_app
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.service import TaskService
from neuraphage.settings import Settings
from neuraphage.store import live, reading
from neuraphage.store.tasks import RedisStore
from neuraphage.wiring import new_task_id, redactor

PROMPT = "Make the failing tests pass."
RUNS_LOG = "test-runs.log"
DEADLINE_S = 50.0
"""The whole demo ends within a minute, also when something does not work."""
RESUME_LIMIT_S = 20.0
"""A task that has not gone on so long after a kill is reported as not resumed."""
STREAMED_CHARS = 40
"""So much of a reply must have been seen before it is interrupted."""
POLL_S = 0.025
SCRIPT_ARGUMENTS = ("--script", "neuraphage.testing.demo_script:repair", "--default", "repair")
_STACK_VARIABLES = ("NEURAPHAGE_STATE_URL", "NEURAPHAGE_BROKER_URL", "NEURAPHAGE_DATA_DIR", "NEURAPHAGE_NAMESPACE")


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What to show.

    Args:
        data_dir: an empty folder for everything.
        project: project to copy; None for the one that comes with the package.
        live: call the real model instead of the scripted one.
        environ: environment of the processes (PATH, the model's key, NEURAPHAGE_* settings).
    """

    data_dir: Path
    project: Path | None = None
    live: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


class Show:
    """What the demo tells while it runs; every method may be overridden."""

    def line(self, text: str) -> None:
        """A line about the stack or a kill."""

    def event(self, event: Event) -> None:
        """A line of the task's history."""

    def delta(self, delta: Delta) -> None:
        """A piece of the reply that streams."""


class Demo:
    """One run of the demo.

    Args:
        options: what to show.
        show: told of everything as it happens.
    """

    def __init__(self, options: DemoOptions, show: Show) -> None:
        self._options = options
        self._show = show
        self._kills: list[KillRecord] = []
        self._streamed_chars = 0

    def run(self) -> DemoRecord:
        """Run it all.

        Raises:
            StackError: the stack did not start.
        """
        started_s = time.monotonic()
        workspace = self._copy_project()
        server = EmbeddedServer(self._options.data_dir, environ=self._options.environ)
        address = server.prepare()
        try:
            environ = {k: v for k, v in self._options.environ.items() if k not in _STACK_VARIABLES}
            scripted = () if self._options.live else SCRIPT_ARGUMENTS
            plan = StackPlan(
                self._options.data_dir,
                address,
                environ=environ,
                workers=2,
                concurrency=4,
                scripted_port=None if self._options.live else free_port(),
                scripted_arguments=scripted,
            )
            make_folders(plan)
            with Supervisor(stack_specs(plan, server), plan.log_dir, on_change=lambda c: self._show.line(c.line)):
                settings = Settings(
                    state_url=SecretStr(address.state_url),
                    broker_url=SecretStr(address.broker_url),
                    data_dir=self._options.data_dir,
                )
                return self._on_stack(settings, workspace, started_s)
        finally:
            server.release()

    def _copy_project(self) -> Path:
        workspace = self._options.data_dir / "project"
        ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
        if self._options.project is not None:
            shutil.copytree(self._options.project, workspace, ignore=ignore)
        else:
            with as_file(files("neuraphage.dev") / "demo_project") as packaged:
                shutil.copytree(packaged, workspace, ignore=ignore)
        return workspace

    def _on_stack(self, settings: Settings, workspace: Path, started_s: float) -> DemoRecord:
        store = RedisStore(settings, SystemClock())
        dispatcher = CeleryDispatcher(make_app(settings))
        service = TaskService(store, dispatcher, redactor(), lambda: secrets.token_hex(8))
        spec = TaskSpec(
            task_id=new_task_id(),
            name=PROMPT,
            prompt=f"{PROMPT} Run them with: {sys.executable} -m pytest -q tests" if self._options.live else PROMPT,
            model=settings.default_model if self._options.live else "scripted-1",
            working_dir=str(workspace),
            allow=("*",),
        )
        task_id = service.submit(spec)
        self._show.line(f"submitted {task_id}: {PROMPT}")
        record = self._follow(store, task_id, workspace, started_s + DEADLINE_S)
        starts = started_runs(workspace)
        events = reading.events(store.context, task_id, limit=10_000)
        return demo_record(record, events, self._kills, starts, tests_pass=tests_pass(workspace))

    def _follow(self, store: RedisStore, task_id: str, workspace: Path, deadline_s: float) -> TaskRecord:
        live.watch(store.context, task_id)
        seen_event, seen_delta = "0", "0"
        while True:
            for stream_id, item in live.snapshot(store.context, task_id, seen_event, seen_delta):
                if isinstance(item, Event):
                    seen_event = stream_id
                    self._streamed_chars = 0 if item.kind == "RequestSent" else self._streamed_chars
                    self._show.event(item)
                else:
                    seen_delta = stream_id
                    self._streamed_chars += len(item.text)
                    self._show.delta(item)
            record = store.get(task_id)
            over = record.status in TERMINAL or record.status is Status.PAUSED
            if over or time.monotonic() > deadline_s or self._gave_up(store, task_id):
                return record
            self._maybe_kill(store, record, workspace)
            time.sleep(POLL_S)

    def _gave_up(self, store: RedisStore, task_id: str) -> bool:
        """Whether the last kill was long ago and nothing has happened since."""
        if not self._kills:
            return False
        last = self._kills[-1].at_ms
        waited = store.now_ms() - last > RESUME_LIMIT_S * 1000
        return bool(waited) and not any(
            (e.at_ms or 0) > last for e in reading.events(store.context, task_id, limit=10_000)
        )

    def _maybe_kill(self, store: RedisStore, record: TaskRecord, workspace: Path) -> None:
        marker = record.marker
        if not self._kills:
            streaming = marker.name is MarkerName.REQUEST_SENT and self._streamed_chars >= STREAMED_CHARS
            if streaming:
                self._kill(store, record, "a reply streamed")
        elif len(self._kills) == 1 and marker.name is MarkerName.TOOL_STARTED and marker.tool == "run_command":
            edited = any(
                e.kind == "ToolCompleted" and e.data["tool"] in {"edit", "write_file"}
                for e in reading.events(store.context, record.task_id, limit=10_000)
            )
            if edited and self._has_begun(store, record, workspace):
                self._kill(store, record, "the tests ran in a tool")

    def _has_begun(self, store: RedisStore, record: TaskRecord, workspace: Path) -> bool:
        """Whether the run in hand has really begun: the project's log shows one start more than ended runs."""
        ended = sum(
            e.kind == "ToolCompleted" and e.data["tool"] == "run_command"
            for e in reading.events(store.context, record.task_id, limit=10_000)
        )
        return bool(started_runs(workspace) > ended)

    def _kill(self, store: RedisStore, record: TaskRecord, while_what: str) -> None:
        pids = {row.process_id: row.pid for row in store.registered()}
        pid = pids.get(record.owner or "")
        if pid is None:
            return
        at_ms = store.now_ms()
        os.kill(pid, signal.SIGKILL)
        self._kills.append(KillRecord(while_what, pid, at_ms, fence=record.fence))
        self._show.line(f"kill -9 {pid}: the worker dies while {while_what}")


def started_runs(workspace: Path) -> int:
    """How often the project's tests were started, by the project's own log."""
    try:
        return len((workspace / RUNS_LOG).read_text(encoding="utf-8").splitlines())
    except FileNotFoundError:
        return 0


def tests_pass(workspace: Path) -> bool:
    """Run the project's own tests once more, outside the stack."""
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    env = {"PATH": os.environ.get("PATH", os.defpath), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    # our own interpreter on our own copy
    ended = subprocess.run(argv, cwd=workspace, env=env, capture_output=True, timeout=60, check=False)  # noqa: S603
    return ended.returncode == 0


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
