"""The Celery app that `celery -A workers.app ...` loads.

Signals bind the life of a Celery process to the life of a neuraphage worker process. Under prefork each
child is a worker process of its own; under threads the one process is.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from typing import Any

from celery import signals
from celery.exceptions import WorkerLostError

from neuraphage import own_secrets
from neuraphage.configuration import load_or_exit
from neuraphage.data_folder import make_data_folder, note_user
from neuraphage.errors import BadInput
from neuraphage.hooks.loading import are_any
from neuraphage.model_access import eager_providers, model_access
from neuraphage.model_wiring import build_model
from neuraphage.own_rules import OwnRules, rules_file
from neuraphage.queue.app import make_app
from neuraphage.queue.names import CONTROL_QUEUE, OBSERVE
from neuraphage.queue.patched.consumer import ConsumerState, is_closed, is_consuming
from neuraphage.queue.patched.flower import guard_flower
from neuraphage.queue.patched.slots import FreeSlotStep
from neuraphage.queue.patched.unacked import UnackedStep
from neuraphage.queue.patched.unreadable import UnreadableStep
from neuraphage.runtime.health import HealthReporter
from neuraphage.runtime.process import WorkerProcess
from neuraphage.runtime.watcher import Watcher
from neuraphage.trusted_projects import TrustedRules, trust_file
from neuraphage.wiring import build_health, build_process, build_sandbox, build_watcher
from neuraphage.worker.hook_check import why_hooks_fail
from neuraphage.worker.logs import configure
from neuraphage.worker.model_sdk import expect_turns
from neuraphage.worker.options import refusal

settings = load_or_exit()


def _flower_starts() -> None:
    own_secrets.hide()
    own_secrets.forget_model_keys()
    note_user(settings.data_dir)


guard_flower(at_start=_flower_starts)
app = make_app(settings)
app.conf.imports = ("neuraphage.worker.tasks", "neuraphage.worker.beat")
app.conf.beat_scheduler = "neuraphage.worker.beat:Scheduler"
if are_any((*settings.hooks, *settings.shell_hooks)):
    app.conf.beat_schedule |= {
        "observe": {
            "task": OBSERVE,
            "schedule": settings.observe_s,
            "options": {"expires": settings.observe_s, "queue": CONTROL_QUEUE},
        }
    }
app.steps["consumer"].update((ConsumerState, UnackedStep, FreeSlotStep, UnreadableStep))

_DRAINING = mmap.mmap(-1, 1)
"""One byte shared with forked children: a warm shutdown is told to the parent only."""


class _Local:
    """What this process has built; another pid means that it was inherited through a fork."""

    process: WorkerProcess | None = None
    watcher: Watcher | None = None
    health: HealthReporter | None = None
    lock = threading.Lock()


def is_draining() -> bool:
    """Whether a shutdown has begun in this process or in its parent."""
    return _DRAINING[0] == 1


def worker_process() -> WorkerProcess:
    """This process as a neuraphage worker process, built at first use and again after a fork."""
    with _Local.lock:
        if _Local.process is None or _Local.process.pid != os.getpid():
            _Local.process = build_process(settings, is_draining, is_closed)
            _Local.process.start()
        return _Local.process


@signals.celeryd_init.connect
def _hide_secrets(**_: Any) -> None:
    """Once this is the worker: what starts one in the background (`--detach`, `multi`) hands its environment on."""
    own_secrets.hide()


@signals.worker_shutdown.connect
def _give_back_secrets(**_: Any) -> None:
    """A worker that is asked to start anew (SIGHUP) replaces itself by the same program."""
    own_secrets.give_back()


@signals.celeryd_init.connect
def _make_data_folder(**_: Any) -> None:
    try:
        make_data_folder(settings.data_dir)
        note_user(settings.data_dir)
    except OSError as error:
        sys.stderr.write(f"worker: make {settings.data_dir}: {error.strerror}; choose another NEURAPHAGE_DATA_DIR\n")
        sys.exit(2)


@signals.celeryd_init.connect
def _refuse_what_cannot_work(options: dict[str, Any] | None = None, **_: Any) -> None:
    known = [queue.name for queue in app.conf.task_queues]
    try:
        access_problem = model_access(settings).problem
    except BadInput as error:
        access_problem = str(error)
    reason = refusal(options or {}, known, access_problem=access_problem, model_problem=_model_problem)
    if reason is not None:
        sys.stderr.write(f"worker: {reason}\n")
        sys.exit(2)


def _model_problem() -> str | None:
    """What keeps turns from being taken: no client of the model, no sandbox that is required, unreadable rules."""
    try:
        build_model(settings)
        if settings.sandbox == "require":
            build_sandbox(settings)
        OwnRules(rules_file())  # nobody knows what a file forbids that cannot be read
        TrustedRules(trust_file())
    except BadInput as error:
        return str(error)
    hooks_problem = why_hooks_fail() if are_any(settings.hooks) else None
    if hooks_problem is not None:
        return hooks_problem
    expect_turns(eager_providers(settings, model_access(settings)))
    return None


@signals.setup_logging.connect
def _logging(loglevel: int | str | None = None, logfile: str | None = None, **_: Any) -> None:
    configure(settings, loglevel, logfile)


@signals.worker_process_init.connect
def _after_fork(**_: Any) -> None:
    own_secrets.hide()
    _Local.lock = threading.Lock()  # the parent's may have been held at the fork
    _Local.process = None
    if _Local.watcher is not None:
        _Local.watcher.resign()
        _Local.watcher = None
    _Local.health = None


@signals.task_failure.connect
def _child_lost(exception: BaseException | None = None, **_: Any) -> None:
    """Celery tells the parent within milliseconds that a prefork child died with a message in hand."""
    if isinstance(exception, WorkerLostError) and _Local.watcher is not None:
        _Local.watcher.child_lost()


@signals.celeryd_after_setup.connect
def _show_health(sender: str = "", **_: Any) -> None:
    """From before the first connection: a worker that starts while the servers are away is live, and not ready."""
    _Local.health = build_health(settings, sender, is_consuming)
    _Local.health.start()


@signals.worker_ready.connect
def _watch(**_: Any) -> None:
    _Local.watcher = build_watcher(settings)
    _Local.watcher.start()


@signals.worker_shutting_down.connect
def _drain(**_: Any) -> None:
    _DRAINING[0] = 1
    if _Local.process is not None:
        _Local.process.drain()


@signals.worker_shutdown.connect
@signals.worker_process_shutdown.connect
def _leave(**_: Any) -> None:
    if _Local.watcher is not None:
        _Local.watcher.stop()
    if _Local.health is not None:
        _Local.health.stop()
    if _Local.process is not None and _Local.process.pid == os.getpid():
        _Local.process.leave()
