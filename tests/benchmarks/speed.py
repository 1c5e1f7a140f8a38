"""Overhead of a turn, turns a second, CPU a turn, bytes a turn; every contender in turn, round after round."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.benchmarks.contenders import Chain, Contender, Loop, Pool, Runtime
from tests.benchmarks.machine import tree_cpu_s, wait_quiet
from tests.benchmarks.servers import BenchServer
from tests.benchmarks.workload import gaps_ms, starts

WARM_TURNS = 10
WARM_TASKS = 16


@dataclass
class Figures:
    """Readings of one contender, one a round."""

    gap_ms: list[float] = field(default_factory=list)
    turns_per_s: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)


def _names(count: int) -> list[str]:
    return [f"b{uuid.uuid4().hex[:12]}" for _ in range(count)]


def measure_speed(
    folder: Path, pool: Pool, *, rounds: int, turns: int, tasks: int, task_turns: int, quiet_s: float
) -> dict[str, Figures]:
    """Run each contender in each round on one server.

    Args:
        folder: logs and data.
        pool: of the Celery contenders.
        rounds: how often.
        turns: of the single task whose gaps are read.
        tasks, task_turns: of the crowd.
        quiet_s: how long to wait for a quiet machine before each.
    """
    found: dict[str, Figures] = {}
    with BenchServer(folder / "r") as server:
        contenders: list[Contender] = [Loop(), Loop(server.client(1))]
        contenders += [Chain(server, server, folder), Runtime(server, server, folder)]
        contenders.append(Runtime(server, server, folder, together=True))
        for _ in range(rounds):
            for contender in contenders:
                figures = found.setdefault(contender.name, Figures())
                contender.start(pool)
                try:
                    _one_round(contender, figures, server, folder, (turns, tasks, task_turns), quiet_s)
                finally:
                    contender.stop()
    return found


def _one_round(
    contender: Contender,
    figures: Figures,
    server: BenchServer,
    folder: Path,
    sizes: tuple[int, int, int],
    quiet_s: float,
) -> None:
    turns, tasks, task_turns = sizes
    contender.run(_names(WARM_TASKS), WARM_TURNS, 0)
    figures.busy.append(wait_quiet(quiet_s))
    [name] = _names(1)
    if turns:
        contender.run([name], turns, 0)
        _check_steps(folder, [name], turns)
        figures.gap_ms.append(median(gaps_ms(folder, name)))
    if not tasks:
        return
    pids = [*contender.pids(), server.pid]
    cpu_s, began = tree_cpu_s(pids), time.monotonic()
    crowd = _names(tasks)
    contender.run(crowd, task_turns, 0)
    took_s, used_s = time.monotonic() - began, tree_cpu_s(pids) - cpu_s
    _check_steps(folder, crowd, task_turns)
    figures.turns_per_s.append(tasks * task_turns / took_s)
    figures.cpu_ms.append(used_s * 1000 / (tasks * task_turns))


def _check_steps(folder: Path, names: list[str], turns: int) -> None:
    """See that the contender did the work that is compared: each step of each turn, once and in order.

    Raises:
        RuntimeError: it did something else.
    """
    wanted = [(turn, kind) for turn in range(turns) for kind in ("model", "tool")]
    found: dict[str, list[tuple[int, str]]] = {name: [] for name in names}
    for _, _, name, turn, kind in starts(folder):
        if name in found:
            found[name].append((turn, kind))
    wrong = [name for name, steps in found.items() if steps != wanted]
    if wrong:
        raise RuntimeError(f"{len(wrong)} of {len(names)} tasks took other steps: {found[wrong[0]]}")


def measure_bytes(folder: Path, lengths: tuple[int, ...]) -> dict[int, float]:
    """Bytes a turn that the state server's append-only file grows by, for tasks of several lengths.

    What a task of one turn writes is subtracted: creating it, ending it, registering the worker.
    """
    found = {}
    with BenchServer(folder / "s") as server, BenchServer(folder / "b") as broker:
        runtime = Runtime(server, broker, folder)
        runtime.start(Pool("threads", 4))
        try:
            runtime.run(_names(1), 3, 0)
            once = _grown(runtime, server, 1)
            for length in lengths:
                found[length] = (_grown(runtime, server, length) - once) / (length - 1)
        finally:
            runtime.stop()
    return found


def _grown(runtime: Runtime, server: BenchServer, turns: int) -> int:
    before = server.file_bytes()
    runtime.run(_names(1), turns, 0)
    return server.file_bytes() - before
