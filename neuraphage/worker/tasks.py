"""The Celery tasks: ids in, a short outcome out, no logic.

Turns and the sweep do the work; the others are the operator's requests as messages, for those who drive
neuraphage through Celery alone. Their outcome is the result that Flower and the log show.
"""

from __future__ import annotations

import os
import secrets
from functools import cache

from neuraphage.client import Client
from neuraphage.hook_wiring import build_observing
from neuraphage.queue.names import CHECKPOINT_TASK, OBSERVE, RECOVERY_REPORT, RESUME_TASK, RUN_TURN, START_TASK, SWEEP
from neuraphage.runtime.observing import Observing
from neuraphage.runtime.outcome import FAILED
from neuraphage.runtime.sweep import SKIPPED, Sweep, summary
from neuraphage.wiring import build_sandbox, build_sweep
from neuraphage.worker.app import app, settings, worker_process


class TaskFailed(Exception):
    """A turn has ended its task as failed; the task's record says why."""


@app.task(name=RUN_TURN, ignore_result=True, throws=(TaskFailed,), Request="neuraphage.worker.revoked:TurnRequest")
def run_turn(task_id: str, iteration: int, seq: int) -> str:
    """Advance a task by one turn. The iteration is for people who read Flower; seq decides.

    Raises:
        TaskFailed: so that Celery and Flower count the turn among the failed ones. Nothing is left to do.
    """
    outcome = worker_process().run_turn(task_id, seq, iteration)
    if outcome.startswith(FAILED):
        raise TaskFailed(outcome)
    return outcome


@cache
def _sweep(pid: int) -> Sweep:
    """The sweep of one process, by its id: it knows what it has told of already, and which entries nothing moves."""
    return build_sweep(settings)


@app.task(name=SWEEP, ignore_result=True, send_events=False, Request="neuraphage.worker.quiet:SweepRequest")
def sweep() -> str:
    """Visit every place a task can sit in and move on what is due."""
    report = _sweep(os.getpid()).run()
    return SKIPPED if report is None else summary(report)


@cache
def _observing(pid: int) -> Observing:
    """What tells observers in one process, by its id: their code is loaded once, after the fork."""
    return build_observing(settings, lambda: build_sandbox(settings))


@app.task(name=OBSERVE, ignore_result=True, send_events=False, Request="neuraphage.worker.quiet:ObserveRequest")
def observe() -> str:
    """Tell observers of new events, and of those that they failed on and that are due."""
    return _observing(os.getpid()).run(secrets.token_hex(8))


@app.task(name=START_TASK, ignore_result=True)
def start_task(task_id: str) -> str:
    """Send a task's wake-up message again, if it waits for a worker."""
    with Client(settings) as client:
        return "sent" if client.wake(task_id) else "it does not wait for a worker"


@app.task(name=RESUME_TASK, ignore_result=True)
def resume_task(task_id: str) -> str:
    """Go on with a paused task."""
    with Client(settings) as client:
        return client.resume(task_id).verdict.value


@app.task(name=CHECKPOINT_TASK, ignore_result=True)
def checkpoint_task(task_id: str) -> str:
    """Tell what a task would go on from; every step is committed as it happens, so nothing is forced."""
    with Client(settings) as client:
        record = client.get(task_id)
    return f"{record.marker.name.value}, turn {record.counters.iteration + 1}, saved at {record.saved_at_ms}"


@app.task(name=RECOVERY_REPORT, ignore_result=True)
def recovery_report() -> str:
    """The newest recovery report that is not empty, as JSON."""
    with Client(settings) as client:
        report = client.recovery_report()
    return "none" if report is None else report.model_dump_json(exclude_defaults=True)
