"""The demo: a real stack, a broken project, two kills with -9, and what they cost.

Everything it reports about the task is read from the durable record (the task's history and record), not from
what this process believes. It holds only if the project's own tests pass at the end, no committed reply was
paid twice, no command was started again, and every kill was followed by work going on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import SecretStr

from neuraphage.api import Api
from neuraphage.client_wiring import api_ports, build_store
from neuraphage.dev.demo_copy import copy_project
from neuraphage.dev.demo_kills import Killer, started_runs
from neuraphage.dev.demo_record import DemoRecord, demo_record
from neuraphage.dev.idle_relay import idle_relay_ended
from neuraphage.dev.local_model import free_port, scripted_environ
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.stack import StackPlan, make_folders, stack_specs
from neuraphage.dev.supervisor import Supervisor
from neuraphage.model.event import Event
from neuraphage.model.task import Status, TaskRecord
from neuraphage.ports import Delta
from neuraphage.settings import Settings

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
            show = self._show
            with (
                idle_relay_ended(plan.data_dir, plan.namespace),
                Supervisor(stack_specs(plan, server), plan.log_dir, on_change=lambda c: show.line(c.line)),
            ):
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
        is_live = self._options.live
        killer = Killer(build_store(settings), workspace, self._show.line)
        with Api(api_ports(settings)) as api:
            task_id = api.submit(
                f"{PROMPT} Run them with: {sys.executable} -m pytest -q tests" if is_live else PROMPT,
                name=PROMPT,
                model=None if is_live else "scripted-1",
                working_dir=str(workspace),
                allow=("*",),
                force=True,  # the copy lies in the demo's own data folder, which is removed afterwards
                followed=True,
            )
            self._show.line(f"submitted {task_id}: {PROMPT}")
            patience_s = self._options.patience_s or (LIVE_PATIENCE_S if is_live else PATIENCE_S)
            record = follow_and_kill(api, task_id, killer, self._show, patience_s=patience_s, deadline_s=deadline_s)
            starts = started_runs(workspace)
            events = [*api.events(task_id)]
        return demo_record(record, events, killer.kills, starts, tests_pass=tests_pass(workspace))


def follow_and_kill(
    api: Api, task_id: str, killer: Killer, show: Show, *, patience_s: float, deadline_s: float
) -> TaskRecord:
    """Show a task until it is over or paused, or is given up; the killer sees each look, then the record.

    Args:
        api: reads.
        task_id: full id.
        killer: kills when it is time.
        show: told of all that happens.
        patience_s: how long nothing may happen to the task.
        deadline_s: when it is given up anyway, by the monotonic clock.

    Returns:
        The task as it stands then.

    Raises:
        StoreUnavailable: the server was away for longer than `follow` sits out.
    """
    moved_s = time.monotonic()
    found: list[Event | Delta] = []
    for item in api.follow(task_id, poll_s=POLL_S):
        if isinstance(item, Event):
            show.event(item)
            found.append(item)
            continue
        if isinstance(item, Delta):
            show.delta(item)
            found.append(item)
            continue
        now_s = time.monotonic()
        moved_s = now_s if found else moved_s
        if (not found and item.status is Status.PAUSED) or now_s > min(deadline_s, moved_s + patience_s):
            break
        killer.saw(found)
        killer.maybe_kill(item)
        found = []
    return api.get(task_id)


def tests_pass(workspace: Path) -> bool:
    """Run the project's own tests once more, outside the stack."""
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    env = {"PATH": os.environ.get("PATH", os.defpath), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    try:
        ended = subprocess.run(argv, cwd=workspace, env=env, capture_output=True, timeout=TESTS_TIMEOUT_S, check=False)  # noqa: S603 - our own interpreter on our own copy
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0
