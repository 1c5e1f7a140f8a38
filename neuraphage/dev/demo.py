"""The demo: a real stack, a broken project, two kills with -9, and what they cost.

Everything it reports about the task is read from the durable record (the task's history and record), not from
what this process believes. It holds only if the project's own tests pass at the end, no committed reply was
paid twice, no command was started again, and every kill was followed by work going on.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from neuraphage.api.service import TaskService
from neuraphage.client_wiring import new_task_id, redactor
from neuraphage.dev.demo_copy import copy_project
from neuraphage.dev.demo_kills import Killer, started_runs
from neuraphage.dev.demo_record import DemoRecord, demo_record
from neuraphage.dev.local_model import free_port, scripted_environ
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.stack import StackPlan, make_folders, stack_specs
from neuraphage.dev.supervisor import Supervisor
from neuraphage.model.event import Event
from neuraphage.model.task import TERMINAL, Status, TaskRecord, TaskSpec
from neuraphage.ports import Delta
from neuraphage.queue import CeleryDispatcher, make_app
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store import live, queries
from neuraphage.store.tasks import RedisStore

__all__ = ["Demo", "DemoOptions", "Show", "free_port"]

PROMPT = "Make the failing tests pass."
DEADLINE_S = 600.0
"""The task's time, from the start of the stack. A slow machine needs many times what a quick one does."""
PATIENCE_S = 30.0
"""A task to which nothing happens for so long is given up, so a demo in which nothing works ends within a minute."""
LIVE_PATIENCE_S = 180.0
"""A real model thinks for longer."""
TESTS_TIMEOUT_S = 30.0
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
        patience_s: how long nothing may happen to the task before the demo gives up; None for the usual time.
    """

    data_dir: Path
    project: Path | None = None
    live: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    patience_s: float | None = None


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

    def run(self) -> DemoRecord:
        """Run it all.

        Raises:
            StackError: the stack did not start.
            BadInput: the project is too large to be copied.
        """
        deadline_s = time.monotonic() + DEADLINE_S
        workspace = self._options.data_dir / "project"
        copy_project(self._options.project, workspace)
        server = EmbeddedServer(self._options.data_dir, environ=self._options.environ)
        address = server.prepare()
        try:
            plan = StackPlan(
                self._options.data_dir,
                address,
                environ=self._environ(),
                workers=2,
                concurrency=4,
                scripted_port=None if self._options.live else free_port(),
                scripted_arguments=() if self._options.live else SCRIPT_ARGUMENTS,
            )
            make_folders(plan)
            with Supervisor(stack_specs(plan, server), plan.log_dir, on_change=lambda c: self._show.line(c.line)):
                settings = Settings(
                    state_url=SecretStr(address.state_url),
                    broker_url=SecretStr(address.broker_url),
                    data_dir=self._options.data_dir,
                    namespace=plan.namespace,
                )
                return self._on_stack(settings, workspace, deadline_s)
        finally:
            server.release()

    def _environ(self) -> dict[str, str]:
        environ = {k: v for k, v in self._options.environ.items() if k not in _STACK_VARIABLES}
        return environ if self._options.live else scripted_environ(environ)

    def _on_stack(self, settings: Settings, workspace: Path, deadline_s: float) -> DemoRecord:
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
        killer = Killer(store, workspace, self._show.line)
        task_id = service.submit(spec)
        self._show.line(f"submitted {task_id}: {PROMPT}")
        record = self._follow(store, task_id, killer, deadline_s)
        starts = started_runs(workspace)
        events = queries.events(store.context, task_id, limit=10_000)
        return demo_record(record, events, killer.kills, starts, tests_pass=tests_pass(workspace))

    def _follow(self, store: RedisStore, task_id: str, killer: Killer, deadline_s: float) -> TaskRecord:
        usual_s = LIVE_PATIENCE_S if self._options.live else PATIENCE_S
        patience_s = self._options.patience_s or usual_s
        live.watch(store.context, task_id)
        watched_s = moved_s = time.monotonic()
        seen_event, seen_delta = "0", "0"
        while True:
            if time.monotonic() - watched_s > store.context.settings.live_ttl_s / 3:
                live.watch(store.context, task_id)
                watched_s = time.monotonic()
            found = live.snapshot(store.context, task_id, seen_event, seen_delta)
            for stream_id, item in found:
                if isinstance(item, Event):
                    seen_event = stream_id
                    self._show.event(item)
                else:
                    seen_delta = stream_id
                    self._show.delta(item)
            killer.saw([item for _, item in found])
            record = store.get(task_id)
            over = not found and (record.status in TERMINAL or record.status is Status.PAUSED)
            if found:
                moved_s = time.monotonic()
            late = time.monotonic() > min(deadline_s, moved_s + patience_s)
            if over or late:
                return record
            killer.maybe_kill(record)
            time.sleep(POLL_S)


def tests_pass(workspace: Path) -> bool:
    """Run the project's own tests once more, outside the stack."""
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    env = {"PATH": os.environ.get("PATH", os.defpath), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    try:
        ended = subprocess.run(argv, cwd=workspace, env=env, capture_output=True, timeout=TESTS_TIMEOUT_S, check=False)  # noqa: S603 - our own interpreter on our own copy
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0
