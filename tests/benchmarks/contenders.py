"""What is compared: nothing durable, a raw Redis loop, the bare Celery chain, neuraphage."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import orjson
import psutil
from celery import Celery

from neuraphage.model.limits import Limits
from neuraphage.model.task import Status, TaskSpec
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from neuraphage.waking import build_dispatcher
from tests.benchmarks.machine import wait_until
from tests.benchmarks.servers import BenchServer
from tests.benchmarks.workload import CHAIN_DONE, CHAIN_STEP, FOLDER_VARIABLE, TOOL, model_text, ready_file, run_tool

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Pool:
    """How turns are spread: `count` Celery workers with a pool of this kind and size."""

    kind: str
    size: int
    count: int = 1

    def __str__(self) -> str:
        return f"{self.count} x {self.kind} {self.size}" if self.count > 1 else f"{self.kind} {self.size}"


class Contender(Protocol):
    """Something that runs the workload."""

    name: str

    def start(self, pool: Pool) -> None: ...

    def stop(self) -> None: ...

    def run(self, tasks: list[str], turns: int, wait_ms: float) -> None: ...

    def pids(self) -> list[int]: ...


class Loop:
    """A loop in this process; with a client, every step is one MULTI of RPUSH and HSET.

    Args:
        client: the state server; None to keep nothing.
    """

    def __init__(self, client: Any = None) -> None:
        self.name = "no durability" if client is None else "raw Redis loop"
        self._client = client

    def start(self, pool: Pool) -> None:
        """Nothing to start."""

    def stop(self) -> None:
        """Nothing to stop."""

    def pids(self) -> list[int]:
        return [os.getpid()]

    def run(self, tasks: list[str], turns: int, wait_ms: float) -> None:
        with ThreadPoolExecutor(max_workers=len(tasks)) as threads:
            list(threads.map(partial(self._one, turns=turns, wait_ms=wait_ms), tasks))

    def _one(self, task: str, turns: int, wait_ms: float) -> None:
        for turn in range(turns):
            call = {"type": "tool_use", "id": f"c{turn}", "name": TOOL, "input": {"name": f"{turn}.txt"}}
            text = model_text(task, turn, wait_ms)
            self._save(task, {"role": "assistant", "content": [{"type": "text", "text": text}, call]}, 2 * turn)
            result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": run_tool(task, turn)}
            self._save(task, {"role": "user", "content": [result]}, 2 * turn + 1)

    def _save(self, task: str, message: dict[str, Any], step: int) -> None:
        if self._client is not None:
            with self._client.pipeline(transaction=True) as pipe:
                pipe.rpush(f"loop:{task}", orjson.dumps(message))
                pipe.hset(f"loop:{task}:state", mapping={"step": step})
                pipe.execute()


class Workers:
    """Celery workers of one app.

    Args:
        name: for the table.
        app: module with the app.
        queue: that they read; None for Celery's default.
        env: their environment beside this one's.
        folder: logs.
    """

    def __init__(self, name: str, app: str, queue: str | None, env: dict[str, str], folder: Path) -> None:
        self.name = name
        self._app, self._queue, self.env, self._folder = app, queue, env, folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, pool: Pool) -> None:
        for number in range(pool.count):
            self.add(pool, f"w{number}")

    def add(self, pool: Pool, node: str) -> subprocess.Popen[bytes]:
        """Start one more worker and wait until it is ready."""
        argv = [sys.executable, "-m", "celery", "-A", self._app, "worker", "-P", pool.kind, "-c", str(pool.size)]
        argv += ["-n", f"{node}-{uuid.uuid4().hex[:6]}@%h", "-l", "WARNING"]
        argv += ["--without-gossip", "--without-mingle", *(["-Q", self._queue] if self._queue else [])]
        log = self._folder / f"{self.name.replace(' ', '-')}-{uuid.uuid4().hex[:6]}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                argv, stdout=output, stderr=output, env=self.env, cwd=ROOT, start_new_session=True
            )
        self.processes.append(process)
        wait_until(lambda: ready_file(self._folder, process.pid).exists(), f"{self.name} to be ready, see {log}")
        return process

    def stop(self) -> None:
        for process in self.processes:
            below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            process.kill()
            for child in below:
                child.kill()
            process.wait(5)
        self.processes.clear()

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]


def environment(server: BenchServer, broker: BenchServer, folder: Path) -> dict[str, str]:
    """Environment of every worker."""
    return os.environ | {
        FOLDER_VARIABLE: str(folder),
        "BENCH_BROKER_URL": broker.broker_url(),
        "BENCH_STATE_URL": server.state_url(),
        "NEURAPHAGE_BROKER_URL": broker.broker_url(),
        "NEURAPHAGE_STATE_URL": server.state_url(),
        "NEURAPHAGE_DATA_DIR": str(folder / "data"),
        "ANTHROPIC_API_KEY": "not-used",
    }


class Chain(Workers):
    """The bare Celery chain."""

    def __init__(self, server: BenchServer, broker: BenchServer, folder: Path) -> None:
        env = environment(server, broker, folder)
        super().__init__("bare chain", "tests.benchmarks.chain_app", None, env, folder)
        self._client: Any = server.client(1)
        self._celery = Celery("chain", broker=broker.broker_url())

    def run(self, tasks: list[str], turns: int, wait_ms: float) -> None:
        self._client.delete(CHAIN_DONE)
        for task in tasks:
            self._celery.send_task(CHAIN_STEP, args=(task, turns, wait_ms))
        wait_until(lambda: int(self._client.get(CHAIN_DONE) or 0) == len(tasks), "the chain to end", limit_s=600)


TOGETHER = "neuraphage, turns together"


class Runtime(Workers):
    """neuraphage with a fake model.

    Args:
        server, broker: of the state, and of the messages.
        folder: logs and data.
        together: whether turns of a task follow in one message (`turns_per_message`).
    """

    def __init__(self, server: BenchServer, broker: BenchServer, folder: Path, *, together: bool = False) -> None:
        env = environment(server, broker, folder) | {"NEURAPHAGE_TURNS_PER_MESSAGE": "auto" if together else "1"}
        name = TOGETHER if together else "neuraphage"
        super().__init__(name, "tests.benchmarks.runtime_app", "np.run", env, folder)
        self.settings = Settings(state_url=server.state_url(), broker_url=broker.broker_url(), data_dir=folder / "data")
        self.store = RedisStore(self.settings, SystemClock())
        self.dispatcher = build_dispatcher(self.settings)
        self.task_ids: dict[str, str] = {}
        """By name, what was submitted."""

    def submit(self, task: str, turns: int, wait_ms: float, prompt: str = "bench {task} {turns} {wait_ms}") -> str:
        """Store one task and publish its first turn; `prompt` tells the model what it is to do."""
        task_id = f"task-{uuid.uuid4()}"
        spec = TaskSpec(
            task_id=task_id,
            name=task,
            prompt=prompt.format(task=task, turns=turns, wait_ms=wait_ms),
            model="claude-sonnet-5-5",
            allow=("*",),
            limits=Limits(max_turns=turns, max_cost_microusd=10**12),
        )
        self.task_ids[task] = task_id
        self.store.create(spec, task_id)
        self.dispatcher.publish_turn(task_id, 0, 1)
        return task_id

    def ended(self) -> int:
        """Tasks that were completed so far."""
        keys = self.store.context.keys
        return int(self.store.context.client.zcard(keys.status(Status.COMPLETED)))

    def run(self, tasks: list[str], turns: int, wait_ms: float) -> None:
        before = self.ended()
        for task in tasks:
            self.submit(task, turns, wait_ms)
        self.wait_ended(before + len(tasks))

    def wait_ended(self, count: int) -> None:
        """Wait until so many tasks are completed."""
        wait_until(lambda: self.ended() >= count, "the tasks to end", limit_s=600)
