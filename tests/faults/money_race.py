"""Worker processes that race pools of money: each takes whatever task waits, until it is killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import secrets
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fault_server import STATE_DB

from neuraphage.client_wiring import new_task_id, price_table
from neuraphage.llm.client import AnthropicClient
from neuraphage.model.task import TaskSpec
from neuraphage.ports import HeldTask
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.sweep import Sweep
from neuraphage.settings import Settings
from neuraphage.store.client import connect
from neuraphage.store.tasks import RedisStore
from neuraphage.testing.scripted_api import Pace, ScriptedReply, ScriptRequest, reply
from patience import PATIENCE_S
from turnkit import LocalDispatcher, new_rig

USAGE = {"input_tokens": 500, "output_tokens": 9_900, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
CALL_MICROUSD = 100_000
"""What each reply costs, by the price of scripted-1. A request is longer than 500 tokens: its worst case is more."""
TURNS = 4


def work(request: ScriptRequest) -> ScriptedReply:
    """A task of a few turns, each of which costs the same, slow enough to be killed in its midst."""
    tools = [("list_directory", {"path": "."})] if request.turn < TURNS - 1 else []
    return reply(f"turn {request.turn}", tools=tools, usage=USAGE, pace=Pace(between_events_s=0.02))


def run_worker(settings: Settings, folder: Path, url: str, model_url: str, process_id: str) -> None:
    """Take tasks from the outbox and do their turns, for ever."""
    client = connect(url)
    rig = new_rig(folder, AnthropicClient(model_url, "key-of-tests"), client=client, settings=settings)
    object.__setattr__(rig.services, "quote", price_table(settings).quote)
    rig.runner._process_id = process_id
    while True:
        waiting = rig.store.due_outbox(rig.store.now_ms() + 10**9, 50)
        random.shuffle(waiting)
        for task_id in waiting[:3]:
            rig.runner.run(task_id, rig.get(task_id).seq)
        time.sleep(0.005)


@dataclass
class Race:
    """Tasks, and worker processes that are killed at random.

    Args:
        folder: for everything.
        url: of the state server.
        model_url: of the scripted API.
        settings: of workers.
    """

    folder: Path
    url: str
    model_url: str
    settings: Settings
    processes: dict[str, Any] = field(default_factory=dict)
    kills: int = 0

    def __post_init__(self) -> None:
        self.store = RedisStore(self.settings, SystemClock(), client=connect(self.url))
        self.sweep = Sweep(self.store, LocalDispatcher(), SystemClock(), self.settings)
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["money_race", "neuraphage.llm.streamed_call"])

    def submit(self, count: int, **fields: Any) -> list[str]:
        """Tasks that wait for a worker."""
        given = {"model": "scripted-1", "max_tokens": 9_900, "working_dir": str(self.folder), "allow": ("*",)} | fields
        specs = [TaskSpec(task_id=new_task_id(), name=f"task {n}", prompt=f"Task {n}.", **given) for n in range(count)]
        return [self.store.create(spec, spec.task_id)[1] for spec in specs]

    def start(self) -> None:
        """One more worker process."""
        name = secrets.token_hex(4)
        given = (self.settings, self.folder, self.url, self.model_url, name)
        process = self.context.Process(target=run_worker, args=given, daemon=True)
        process.start()
        self.processes[name] = process

    def kill(self, name: str) -> None:
        """kill -9, and what the watcher does then."""
        process = self.processes.pop(name)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        for held in self._held_by(name):
            self.store.recover(held, "gone")

    def _held_by(self, name: str) -> list[HeldTask]:
        return [held for held in self.store.held_tasks(until_ms=None, limit=1_000) if held.owner == name]

    def run(self, tasks: list[str], workers: int, kills: int, chance: random.Random) -> None:
        """Go on until every task is over or paused; kill workers at random meanwhile."""
        for _ in range(workers):
            self.start()
        deadline_s = time.monotonic() + PATIENCE_S
        while any(self.store.get(task_id).place not in (None, "waits") for task_id in tasks):
            assert time.monotonic() < deadline_s, [self.store.get(task_id).detail for task_id in tasks]
            self.sweep.timers(self.store.now_ms())
            time.sleep(chance.uniform(0.02, 0.2))
            busy = sorted({held.owner for held in self.store.held_tasks(until_ms=None, limit=1_000)})
            if self.kills < kills and busy:
                self.kill(chance.choice(busy))
                self.start()
                self.kills += 1

    def close(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            process.kill()
            process.join()


def state_url(socket: Path) -> str:
    """The state server as a URL."""
    return f"unix://{socket}?db={STATE_DB}"
