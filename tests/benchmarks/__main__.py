"""Run the benchmarks and print a table: `python -m tests.benchmarks [part ...] [--rounds N]`."""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import (
    assembling,
    commands,
    confined,
    judging,
    line,
    memory,
    recovery,
    relayed,
    report,
    scale,
    speed,
    start,
    view,
)
from tests.benchmarks.contenders import Pool
from tests.benchmarks.machine import describe
from tests.benchmarks.workload import FOLDER_VARIABLE

LENGTHS = (10, 200, 1_000)
LIVE_TASKS = 100_000


def _speed(folder: Path, rounds: int, pool: Pool, tasks: int = 100, task_turns: int = 20) -> list[report.Row]:
    figures = speed.measure_speed(
        folder, pool, rounds=rounds, turns=100, tasks=tasks, task_turns=task_turns, quiet_s=20
    )
    return report.speed_rows(figures, pool, tasks)


PARTS: dict[str, Callable[[Path, int], list[report.Row]]] = {
    "threads": lambda folder, rounds: _speed(folder, rounds, Pool("threads", 8)),
    "prefork": lambda folder, rounds: _speed(folder, rounds, Pool("prefork", 2)),
    # a task for each slot: no message waits, which is what turns together are for
    "few": lambda folder, rounds: _speed(folder, rounds, Pool("threads", 8), tasks=8, task_turns=100),
    "bytes": lambda folder, _: report.bytes_rows(speed.measure_bytes(folder, LENGTHS)),
    "kill": lambda folder, rounds: report.seconds_rows(
        "kill -9 of a whole worker to the next start", recovery.measure_kills(folder, 4 * rounds), "p50 0.5, max 1.5"
    ),
    "child": lambda folder, rounds: report.seconds_rows(
        "kill -9 of a prefork child to the next start", recovery.measure_child_kills(folder, 2 * rounds), "0.3"
    ),
    "hang": lambda folder, _: report.seconds_rows(
        "SIGSTOP of a worker to the next start (lease 20 s)", recovery.measure_hangs(folder, 2), "26"
    ),
    "scale": lambda folder, _: report.scale_rows(
        scale.sweep_ms(folder, LIVE_TASKS),
        scale.recovery_ms_a_task(folder, 100),
        scale.recovery_ms_a_task(folder, 1_000),
        scale.waiting_bytes(folder),
        scale.heartbeat_ms(folder),
    ),
    "line": lambda folder, _: report.line_rows(
        line.admission_ms(folder, 1_000),
        line.admission_ms(folder, LIVE_TASKS),
        line.first_turns_ms(folder, 1),
        line.first_turns_ms(folder, 1_000),
    ),
    "view": lambda folder, rounds: report.view_rows(*view.measure_view(folder, 20 * rounds)),
    "commands": lambda folder, rounds: report.command_rows(commands.cpu_ms(folder, 2 * rounds)),
    "start": lambda folder, rounds: report.start_rows(start.cpu_s(folder, rounds)),
    "sandbox": lambda folder, rounds: report.sandbox_rows(confined.wall_ms(folder, 8 * rounds)),
    "rules": lambda _, rounds: report.judging_rows(*judging.wall_ms(4 * rounds)),
    "assembling": lambda _, rounds: report.assembling_rows(*assembling.wall_ms(20 * rounds)),
    "relay": lambda folder, rounds: report.relay_rows(
        relayed.calls_ms(folder, 40 * rounds),
        relayed.turns_ms(folder, rounds),
        relayed.streams(folder, 200, 10.0),
        relayed.resumed_s(folder, 2 * rounds),
    ),
    "memory": lambda folder, _: report.memory_rows(memory.busy_rss_bytes(folder), memory.idle_cpu_percent(folder)),
}


def main() -> None:
    """Measure the named parts, or all of them."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    arguments.add_argument("--rounds", type=int, default=5, help="repeats of what varies")
    chosen = arguments.parse_args()
    logging.disable(logging.WARNING)  # a thousand recoveries are a thousand warnings
    print(describe(), flush=True)
    print(report.HEAD)
    for name in chosen.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="npb-", ignore_cleanup_errors=True) as folder:
            os.environ[FOLDER_VARIABLE] = folder
            for row in PARTS[name](Path(folder), chosen.rounds):
                print(row, flush=True)


if __name__ == "__main__":
    main()
