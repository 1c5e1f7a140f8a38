"""Worker processes of their own interpreter that carry out trees over the scripted API, and are killed."""

from __future__ import annotations

import multiprocessing
import os
import random
import secrets
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

from at_files import MESSAGES, SharedMessages, touching
from tree_work import Shape

from neuraphage.llm.client import AnthropicClient
from neuraphage.model.limits import Limits
from neuraphage.model.recovery import Evidence
from neuraphage.model.task import TERMINAL
from neuraphage.runtime.runner import TurnRunner
from neuraphage.settings import Settings
from neuraphage.store.client import connect
from patience import PATIENCE_S
from turnkit import Rig, new_rig

SAMPLE_EVERY_S = 0.02


def rig_of(settings: Settings, folder: Path, url: str, model_url: str) -> Rig:
    """A process of this site."""
    client = connect(url)
    return new_rig(
        folder, AnthropicClient(model_url, "key-of-tests"), client=client, settings=settings,
        extra=[touching(folder / "touched")], dispatcher=SharedMessages(client),
    )  # type: ignore[arg-type] # a shared list in its place  # fmt: skip


def run_worker(settings: Settings, folder: Path, url: str, model_url: str, name: str) -> None:
    """Take messages and do their turns, for ever."""
    rig = rig_of(settings, folder, url, model_url)
    runner = TurnRunner(rig.services, rig.keeper, name)
    while True:
        raw = rig.client.lpop(MESSAGES)
        if raw is None:
            time.sleep(0.005)
            continue
        task_id, seq, iteration = raw.decode().split()
        runner.run(task_id, int(seq), int(iteration))


class TreeSite:
    """Workers, what watcher and sweep do, and a look at the slots all the time.

    Args:
        settings: of all processes.
        folder: working directory of all tasks.
        url: of the state server.
        model_url: of the scripted API.
        seed: of who is killed.
    """

    def __init__(self, settings: Settings, folder: Path, url: str, model_url: str, seed: int) -> None:
        self._given = (settings, folder, url, model_url)
        self.rig, self._looking = rig_of(*self._given), connect(url)
        self._rng = random.Random(seed)
        self.living: dict[str, Any] = {}
        self.dead: set[str] = set()
        self.sampled: Counter[str] = Counter()
        """Most slots that were seen taken at once, by pool."""
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tree_site", "neuraphage.llm.streamed_call"])
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def _sample(self) -> None:
        line = self.rig.store.context.keys.line
        while not self._over.wait(SAMPLE_EVERY_S):
            rows = self._looking.zrangebylex(line, "[s", "(t")
            self.sampled |= Counter(row.decode()[1:].partition(" ")[0] for row in rows)

    def start(self) -> None:
        """A worker process more."""
        name = secrets.token_hex(4)
        process = self._context.Process(target=run_worker, args=(*self._given, name), daemon=True)
        with mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):  # for what is preloaded
            process.start()
        self.living[name] = process

    def kill(self) -> bool:
        """kill -9 of one that has a task, whatever it is at, and another one in its place; False if none has."""
        busy = {held.owner for held in self.rig.store.held_tasks(until_ms=None, limit=1_000)}
        if not (busy := busy & self.living.keys()):
            return False
        name = self._rng.choice(sorted(busy))
        process = self.living.pop(name)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        self.dead.add(name)
        self.start()
        return True

    def tend(self) -> None:
        """What watcher and sweep do."""
        for held in self.rig.store.held_tasks(until_ms=None, limit=1_000):
            if held.owner in self.dead:
                self.rig.sweep.recover(held, Evidence.GONE)
        self.rig.sweep.run(guarded=False)

    def begin(self, shape: Shape, trees: int, poor: int) -> list[str]:
        """Empty all, and submit trees, the first `poor` of them with too little money."""
        self.rig.client.flushall()
        (self.rig.folder / "touched").write_bytes(b"")
        self.rig.store.adjust()
        roots = []
        for number in range(trees):
            money = shape.cost_microusd // 2 if number < poor else shape.cost_microusd * 2
            limits = Limits(max_turns=50, max_cost_microusd=money)
            prompt = shape.prompt(f"{number} {secrets.token_hex(4)}")
            roots.append(self.rig.submit(prompt, max_tokens=100, limits=limits, labels={"tree": f"t{number}"}))
        return roots

    def run(self, kill_every_s: float) -> list[str]:
        """Go on until every task is over, killing all the time; the ids of all tasks.

        Something is done between two kills: on a slow machine nobody would else live for long enough to do anything.
        """
        killed_s, deadline_s, done = time.monotonic(), time.monotonic() + PATIENCE_S, 0
        touched = self.rig.folder / "touched"
        ids: list[str] = []
        while True:
            ids = [raw.decode() for raw in self.rig.client.zrange(self.rig.kit.keys.ids, 0, -1)]
            open_ids = [one for one in ids if self.rig.kit.status(one) not in TERMINAL]
            if not open_ids:
                return ids
            assert time.monotonic() < deadline_s, {one: self.rig.get(one).detail for one in open_ids}
            is_time = time.monotonic() > killed_s + kill_every_s and touched.stat().st_size > done
            if is_time and self.kill():
                done = touched.stat().st_size
                killed_s = time.monotonic()
            self.tend()
            time.sleep(0.05)

    def close(self) -> None:
        """End all processes."""
        self._over.set()
        self._sampler.join()
        for process in self.living.values():
            process.kill()
            process.join()
