"""Kills whatever runs while tasks run, aims at what was hit least, and starts again what it killed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from chaos_record import Doing, Victim, doing
from chaos_tasks import OWN_TOOLS, ChaosTask, make_task

from neuraphage.model.task import TERMINAL, TaskRecord
from stackkit import Stack
from stackkit.process import StackProcess, freeze, send
from stackkit.waiting import wait_for

TASKS = 20
MIN_KILLS = 15
AIM_LIMIT_S = 0.6
"""How long one shot may be aimed; then whatever is there is hit."""
WORKER_VICTIMS = (Victim.THREADS, Victim.CHILD, Victim.PARENT)


@dataclass
class Tally:
    """Kills so far, by victim and by what it was doing."""

    by_victim: Counter[Victim] = field(default_factory=Counter)
    by_doing: Counter[tuple[Victim, Doing]] = field(default_factory=Counter)
    tasks_hit: int = 0

    def count(self, victim: Victim, found: Counter[Doing]) -> None:
        """Note one kill and what the victim did with each of its tasks."""
        self.by_victim[victim] += 1
        self.tasks_hit += found.total()
        self.by_doing.update({(victim, what): 1 for what in found})

    def of(self, what: Doing) -> int:
        """Kills in which a victim did this with at least one task."""
        return sum(count for (_, done), count in self.by_doing.items() if done is what)

    def is_full(self) -> bool:
        """Whether there were enough kills, and of every class."""
        return (
            self.by_victim.total() >= MIN_KILLS
            and all(self.by_victim[victim] for victim in Victim)
            and all(self.of(what) for what in Doing)
        )

    def table(self) -> str:
        """The tally for people."""
        heads = "".join(f"{what.value:>26}" for what in Doing)
        rows = [f"{'':16}{'kills':>7}{heads}"]
        for victim in Victim:
            cells = "".join(f"{self.by_doing[victim, what] or '-':>26}" for what in Doing)
            rows.append(f"{victim.value:16}{self.by_victim[victim]:>7}{cells}")
        sums = "".join(f"{self.of(what):>26}" for what in Doing)
        rows.append(f"{'all':16}{self.by_victim.total():>7}{sums}   ({self.tasks_hit} tasks hit)")
        return "\n".join(rows)


class Chaos:
    """One run.

    Args:
        stack: an empty stack whose processes nobody else needs.
        seed: of every choice.
    """

    def __init__(self, stack: Stack, seed: int) -> None:
        self.stack = stack
        self.tally = Tally()
        self.tasks: dict[str, ChaosTask] = {}
        self._rng = random.Random(seed)
        self._open: set[str] = set()
        stack.end_workers()
        threads = {"concurrency": 5, "tools": OWN_TOOLS}
        self._threads = [stack.worker(turns_per_message=turns, **threads) for turns in ("1", "auto")]
        self._prefork = stack.worker(pool="prefork", concurrency=3, tools=OWN_TOOLS)
        for worker in (*self._threads, self._prefork):
            worker.start(wait_ready=False)
        self._control, self._beat = stack.start_control(), stack.start_beat()

    def run(self, seconds: float, limit_s: float) -> None:
        """Kill for so long, and on until every class was hit, but not beyond the limit (seconds)."""
        begun_s = time.monotonic()
        for worker in (*self._threads, self._prefork):
            worker.wait_ready()
        while True:
            spent_s = time.monotonic() - begun_s
            if spent_s >= limit_s or (spent_s >= seconds and self.tally.is_full()):
                return
            self._keep_tasks()
            self._strike()

    def finish(self, limit_s: float) -> list[TaskRecord]:
        """Wait until all tasks are over."""
        wait_for(self._all_over, f"{len(self.tasks)} tasks to end", limit_s=limit_s, every_s=0.05)
        return [self.stack.record(task) for task in self.tasks]

    def _all_over(self) -> bool:
        over = {status.value for status in TERMINAL}
        self._open = {task for task, status in self.stack.statuses(self._open).items() if status not in over}
        return not self._open

    def _keep_tasks(self) -> None:
        self._all_over()
        while len(self._open) < TASKS:
            task = make_task(self._rng)
            task_id = self.stack.submit(task.prompt)
            self.tasks[task_id] = task
            self._open.add(task_id)

    # --- one kill ---

    def _strike(self) -> None:
        victim = min(Victim, key=lambda v: (self.tally.by_victim[v] / _WEIGHT[v], self._rng.random()))
        time.sleep(self._rng.uniform(0.0, 0.2))  # the instant is drawn, not waited for
        match victim:
            case Victim.CONTROL | Victim.BEAT:
                self._restart(self._control if victim is Victim.CONTROL else self._beat)
                self.tally.count(victim, Counter())
            case Victim.SERVER:
                found = self._look(None)
                self.stack.kill_server()
                self.tally.count(victim, found)
            case _:
                self._strike_worker(victim)

    def _strike_worker(self, victim: Victim) -> None:
        wanted = min(Doing, key=lambda d: (self.tally.of(d), self._rng.random()))
        deadline_s = time.monotonic() + AIM_LIMIT_S
        while True:
            process, pids = self._target(victim)
            if pids:
                for pid in pids:
                    freeze(pid)
                found = self._look(pids)
                late = time.monotonic() > deadline_s
                if wanted in found or (late and found):
                    self._kill(victim, process, pids)
                    self.tally.count(victim, found)
                    return
                for pid in pids:
                    send(pid, signal.SIGCONT)
                if late:
                    return
            self._keep_tasks()
            time.sleep(self._rng.uniform(0.0, 0.03))  # as above

    def _target(self, victim: Victim) -> tuple[StackProcess, list[int]]:
        """A process of this kind, and the ids to freeze: the one to be killed last."""
        if victim is Victim.THREADS:
            working = [process for process in self._threads if self._is_registered(process.pid)]
            process = self._rng.choice(working or self._threads)
            return process, [process.pid] if working else []
        children = [pid for pid in self._prefork.children() if self._is_registered(pid)]
        if not children:
            return self._prefork, []
        if victim is Victim.CHILD:
            return self._prefork, [self._rng.choice(children)]
        return self._prefork, [*children, self._prefork.pid]

    def _is_registered(self, pid: int) -> bool:
        return any(row.pid == pid for row in self.stack.store.registered())

    def _kill(self, victim: Victim, process: StackProcess, pids: list[int]) -> None:
        if victim is Victim.CHILD:
            os.kill(pids[-1], signal.SIGKILL)
            return
        self._restart(process)
        for pid in pids[:-1]:
            send(pid, signal.SIGCONT)  # children of a killed parent die by themselves, or go on

    def _restart(self, process: StackProcess) -> None:
        process.kill()
        process.start(wait_ready=False)

    # --- what the record says ---

    def _look(self, pids: list[int] | None) -> Counter[Doing]:
        """What these processes do (None: all workers), task by task."""
        store = self.stack.store
        owners = {row.process_id for row in store.registered() if pids is None or row.pid in pids}
        mine = [task for task, owner in self.stack.owners(self._open).items() if owner in owners]
        answered = {e["request_id"]: e["outcome"] == "completed" for e in self.stack.model_requests()} if mine else {}
        found: Counter[Doing] = Counter()
        for task in mine:
            record = self.stack.record(task)
            what = doing(record, self.stack.journal(task), answered, self.stack.lines_of(record))
            found.update([what] if what is not None else [])
        return found


_WEIGHT = {
    Victim.THREADS: 4.0,
    Victim.CHILD: 6.0,
    Victim.PARENT: 2.0,
    Victim.CONTROL: 1.0,
    Victim.BEAT: 1.0,
    Victim.SERVER: 2.0,
}
"""How often each is hit, in proportion."""


@contextlib.contextmanager
def told_seed(seed: int) -> Iterator[None]:
    """Name the seed with every failure."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"to repeat it: --chaos-seed {seed}")
        raise
