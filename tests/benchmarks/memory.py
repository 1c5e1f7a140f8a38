"""A busy worker's memory, and what an idle one costs."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from pathlib import Path

from neuraphage.model.task import TaskSpec
from tests.benchmarks.contenders import ROOT, Pool, Runtime, Workers
from tests.benchmarks.machine import rss_bytes, tree_cpu_s, wait_until
from tests.benchmarks.servers import BenchServer

TURNS_IN_FLIGHT = 100
IDLE_S = 10.0


def busy_rss_bytes(folder: Path, turns: int = TURNS_IN_FLIGHT) -> int:
    """Memory of one worker with so many turns that stream slowly from a real HTTP server."""
    with BenchServer(folder / "m") as server:
        runtime = Runtime(server, server, folder)
        port_file = folder / "port"
        argv = [sys.executable, "-m", "neuraphage.testing.scripted_api", "--port-file", str(port_file)]
        argv += ["--script", "tests.benchmarks.slow_script:slow", "--port", "0"]
        with (folder / "model.log").open("wb") as log:
            model = subprocess.Popen(argv, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
        wait_until(port_file.exists, "the scripted model")
        url = f"http://127.0.0.1:{port_file.read_text(encoding='utf-8').strip()}"
        env = runtime.env | {"NEURAPHAGE_ANTHROPIC_BASE_URL": url}
        workers = Workers("plain", "tests.benchmarks.plain_app", "np.run", env, folder)
        try:
            workers.start(Pool("threads", turns))
            for _ in range(turns):
                _submit_plain(runtime)
            keys, client = runtime.store.context.keys, runtime.store.context.client
            wait_until(lambda: client.zcard(keys.leases) == turns, "all turns to be in flight")
            time.sleep(3)  # so that every stream has begun
            if client.zcard(keys.leases) != turns:
                raise RuntimeError(f"{client.zcard(keys.leases)} of {turns} turns are still in flight")
            return rss_bytes(workers.pids()[0])
        finally:
            workers.stop()
            model.kill()
            model.wait(5)


def _submit_plain(runtime: Runtime) -> None:
    task_id = f"task-{uuid.uuid4()}"
    spec = TaskSpec(task_id=task_id, name="slow", prompt="[script:slow] Go on.", model="claude-sonnet-5-5")
    runtime.store.create(spec, task_id)
    runtime.dispatcher.publish_turn(task_id, 0, 1)


def idle_cpu_percent(folder: Path, idle_s: float = IDLE_S) -> tuple[float, float]:
    """CPU of an idle worker with the watcher, and of one whose watcher does not look for dead processes (percent)."""
    return _idle(folder, "auto", idle_s), _idle(folder, "off", idle_s)


def _idle(folder: Path, policy: str, idle_s: float) -> float:
    with BenchServer(folder / f"q{policy}") as server:
        runtime = Runtime(server, server, folder)
        runtime.env = runtime.env | {"NEURAPHAGE_RECOVERY_POLICY": policy}
        runtime.start(Pool("threads", 8))
        try:
            runtime.run([f"w{uuid.uuid4().hex[:8]}"], 2, 0)
            pids = runtime.pids()
            began_s = tree_cpu_s(pids)
            time.sleep(idle_s)
            return (tree_cpu_s(pids) - began_s) / idle_s * 100
        finally:
            runtime.stop()
