"""The two Celery tasks: ids in, a short outcome out, no logic."""

from __future__ import annotations

from neuraphage.queue import RUN_TURN, SWEEP
from neuraphage.wiring import build_sweep
from workers.app import app, settings, worker_process


@app.task(name=RUN_TURN, ignore_result=True)
def run_turn(task_id: str, iteration: int, seq: int) -> str:
    """Advance a task by one turn. The iteration is for people who read Flower; seq decides."""
    return worker_process().run_turn(task_id, seq)


@app.task(name=SWEEP, ignore_result=True)
def sweep() -> str:
    """Visit every place a task can sit in and move on what is due."""
    report = build_sweep(settings, app).run()
    return "skipped" if report is None else f"{report.duration_ms} ms"
