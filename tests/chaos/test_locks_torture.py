"""Many tasks that change a few files, by workers that are killed all the time: no two are ever at one file at once."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from at_files import MESSAGES, SharedMessages, overlaps, touching

from neuraphage.model.message import ModelReply
from neuraphage.model.recovery import Evidence
from neuraphage.model.task import TERMINAL, Status
from neuraphage.runtime.runner import TurnRunner
from neuraphage.settings import Settings
from patience import PATIENCE_S
from servers import ValkeyProcess
from turnkit import Rig, calls, new_rig, says

pytestmark = [pytest.mark.real_redis, pytest.mark.timeout(3_600)]
FILES, TURNS, WORKERS = 10, 3, 3
SHORT_TASKS, LONG_TASKS = 12, 50
KILL_EVERY_S = 0.3


class Planned:
    """ports.ModelClient: each task changes one file a turn, chosen by its name and the turn."""

    def call(self, request: Any, on_delta: object, interrupt: object) -> ModelReply:
        done = sum(message["role"] == "assistant" for message in request.messages)
        if done >= TURNS:
            return says("Done.")
        number = random.Random(f"{request.messages[0]} {done}").randrange(FILES)
        return calls((f"turn-{done}", "touch", {"path": f"{number}.txt"}))


class Site:
    """The processes of one run.

    Args:
        server: of its own.
        folder: working directory of all tasks.
    """

    def __init__(self, server: ValkeyProcess, folder: Path) -> None:
        self._server, self.folder, self.log = server, folder, folder / "log"
        self.settings = Settings(
            namespace="torture", data_dir=folder / ".data", lock_wait_s=3_600.0, max_recoveries=1_000_000,
            first_republish_s=1.0, max_republish_s=2.0,
        )  # fmt: skip
        self.rig = self._rig()
        self.living: dict[int, str] = {}
        self.dead: set[str] = set()

    def _rig(self) -> Rig:
        client = self._server.client()
        extra, dispatcher = [touching(self.log)], SharedMessages(client)
        return new_rig(
            self.folder, Planned(), client=client, settings=self.settings, extra=extra, dispatcher=dispatcher
        )  # type: ignore[arg-type] # a shared list in its place

    def start(self) -> None:
        """A worker process more."""
        name = f"worker-{len(self.living) + len(self.dead)}-{random.random()}"
        pid = os.fork()
        if pid == 0:
            try:
                self._work(name)
            except BaseException:
                traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
        self.living[pid] = name

    def _work(self, name: str) -> None:
        rig = self._rig()
        runner = TurnRunner(rig.services, rig.keeper, name)
        while True:
            raw = rig.client.lpop(MESSAGES)
            if raw is None:
                time.sleep(0.005)
                continue
            task_id, seq, iteration = raw.decode().split()
            runner.run(task_id, int(seq), int(iteration))

    def kill(self) -> None:
        """Kill one with -9, whatever it is at."""
        pid = random.choice(list(self.living))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.dead.add(self.living.pop(pid))

    def tend(self) -> None:
        """What watcher and sweep do."""
        for held in self.rig.store.held_tasks(until_ms=None, limit=1_000):
            if held.owner in self.dead:
                self.rig.sweep.recover(held, Evidence.GONE)
        self.rig.sweep.run(guarded=False)

    def end(self) -> None:
        while self.living:
            self.kill()


@pytest.fixture
def site() -> Iterator[Site]:
    """A server and no worker yet."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder, ValkeyProcess(Path(folder)) as server:
        (Path(folder) / "work").mkdir()
        site = Site(server, Path(folder) / "work")
        yield site
        site.end()


def test_tasks_of_killed_workers_never_meet_at_a_file(site: Site, chaos_s: float) -> None:
    """Each comes to its end, each call has one result, and who was killed at a file keeps others from it until then."""
    wanted = LONG_TASKS if chaos_s else SHORT_TASKS
    tasks = [site.rig.submit(f"Task {number}.") for number in range(wanted)]
    for _ in range(WORKERS):
        site.start()
    began_s = time.monotonic()
    killed_s, deadline_s = began_s, began_s + chaos_s + PATIENCE_S
    while any(site.rig.kit.status(task) not in TERMINAL for task in tasks) or time.monotonic() < began_s + chaos_s:
        assert time.monotonic() < deadline_s, {task: site.rig.kit.status(task) for task in tasks}
        if time.monotonic() > killed_s + KILL_EVERY_S:
            site.kill()
            site.start()
            killed_s = time.monotonic()
        if chaos_s and all(site.rig.kit.status(task) in TERMINAL for task in tasks[-wanted:]):
            tasks += [site.rig.submit(f"Task {len(tasks)}.") for _ in range(wanted)]
        site.tend()
        time.sleep(0.05)
    site.end()
    lines = site.log.read_text(encoding="utf-8").splitlines()
    assert overlaps(lines) == []
    assert {site.rig.kit.status(task) for task in tasks} == {Status.COMPLETED}
    assert all(len(site.rig.results(task)) == TURNS for task in tasks)
    ended = defaultdict[str, int](int)
    for line in lines:
        ended[line.split()[1]] += line.endswith("ends")
    assert all(ended[task] >= TURNS for task in tasks)
    assert site.rig.client.exists(site.rig.kit.keys.locks) == 0
    site.rig.check()
