"""The bare Celery chain: one message a turn, the conversation appended to a list, nothing fenced.

Late acknowledgement and a long visibility timeout, as a chain without leases needs them. Two writes a turn, each
the new message and a state field; it loads the whole conversation at each start, as a turn has to.
"""

from __future__ import annotations

import os
from typing import Any

import orjson
import redis
from celery import Celery, signals

from tests.benchmarks.workload import CHAIN_DONE, CHAIN_STEP, TOOL, mark_ready, model_text, run_tool

app = Celery("chain", broker=os.environ["BENCH_BROKER_URL"])
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"visibility_timeout": 3_600},
)
signals.worker_ready.connect(mark_ready)
state: Any = redis.Redis.from_url(os.environ["BENCH_STATE_URL"])


def _save(task: str, message: dict[str, Any], step: int) -> None:
    with state.pipeline(transaction=True) as pipe:
        pipe.rpush(f"chain:{task}", orjson.dumps(message))
        pipe.hset(f"chain:{task}:state", mapping={"step": step})
        pipe.execute()


@app.task(name=CHAIN_STEP, ignore_result=True)  # type: ignore[untyped-decorator]  # Celery carries no types
def step(task: str, turns: int, wait_ms: float) -> None:
    """One turn: load, call, save, run, save, send the next message."""
    conversation = [orjson.loads(raw) for raw in state.lrange(f"chain:{task}", 0, -1)]
    turn = len(conversation) // 2
    call = {"type": "tool_use", "id": f"c{turn}", "name": TOOL, "input": {"name": f"{turn}.txt"}}
    text = model_text(task, turn, wait_ms)
    _save(task, {"role": "assistant", "content": [{"type": "text", "text": text}, call]}, 2 * turn + 1)
    result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": run_tool(task, turn)}
    _save(task, {"role": "user", "content": [result]}, 2 * turn + 2)
    if turn + 1 < turns:
        step.delay(task, turns, wait_ms)
    else:
        state.incr(CHAIN_DONE)
