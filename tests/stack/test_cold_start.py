"""A worker from its very start: what it has imported when it is ready, and its first turn."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from neuraphage.dev.stack import worker_argv
from neuraphage.model.task import Status
from neuraphage.queue.names import RUN_QUEUE
from stackkit import Stack, command, task_prompt, turn, wait_for
from stackkit.process import StackProcess

pytestmark = pytest.mark.real_workers

PROGRAM = """
import sys
from celery import signals

def tell(**_):
    print("ready, with the SDK" if "anthropic" in sys.modules else "ready, without the SDK", flush=True)

signals.worker_ready.connect(tell)
from celery.__main__ import main
main()
"""
"""Celery's command line, told of first when the worker is ready."""


def cold_worker(stack: Stack, tmp_path: Path, pool: str) -> StackProcess:
    """A worker that imports everything by itself; those of other tests begin with what the zygote has imported."""
    argv = worker_argv(stack.plan, f"cold-{pool}", RUN_QUEUE, 2)
    options = list(argv[argv.index("celery") + 1 :])
    options[options.index("-P") + 1] = pool
    program = tmp_path / "cold.py"
    program.write_text(PROGRAM, encoding="utf-8")
    log = stack.plan.log_dir / f"cold-{pool}.log"
    env = stack.environment(model_key=True)
    worker = StackProcess(
        f"cold-{pool}", [sys.executable, "-P", str(program), *options], env, log, ready_text=" ready."
    )
    stack.processes.append(worker)
    return worker


@pytest.mark.parametrize(
    ("pool", "told"),
    [("threads", "without the SDK"), ("solo", "without the SDK"), ("prefork", "with the SDK")],
)
def test_the_first_turn_comes_while_the_worker_starts(stack: Stack, tmp_path: Path, pool: str, told: str) -> None:
    """It waits for the SDK at most, and its call is made once; prefork imports it for its children, before ready."""
    tasks = [stack.submit(task_prompt(turn("", command(f"echo {n} >> log.txt")), turn("done"))) for n in range(3)]
    worker = cold_worker(stack, tmp_path, pool)
    worker.start()
    wait_for(lambda: f"ready, {told}" in worker.output(), "what it has imported")
    for record in stack.finished(*tasks):
        assert record.status is Status.COMPLETED
        assert record.counters.recoveries_total == 0
        assert [r["outcome"] for r in stack.model_requests(record.task_id)] == ["completed", "completed"]
    assert "Traceback" not in worker.output()
