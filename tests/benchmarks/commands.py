"""What a command that needs no worker takes: CPU time of its whole process, which other load changes least."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

from tests.benchmarks.servers import BenchServer

CALLS = (
    "--help",
    "version",
    "config show",
    "env",
    "where",
    "health",
    "list",
    "show {task}",
    "events {task}",
    "why {task}",
    "checkpoint {task}",
    "repair",
    "limit {task} --max-turns 60",
    "cancel {task}",
)
"""Those that need no worker, and none of which wakes one; only the first `cancel` finds a task to end."""


def cpu_ms(folder: Path, repeats: int) -> dict[str, float]:
    """Median CPU time of each command, user and system together, in milliseconds.

    Args:
        folder: for the server and the data folder.
        repeats: runs of each command; the first one, which reads its files from the disk, is not counted.
    """
    with BenchServer(folder / "server") as server:
        urls = {"STATE_URL": f"unix://{server.socket}?db=1", "BROKER_URL": f"redis://127.0.0.1:{server.port}/0"}
        others = {"DATA_DIR": str(folder / "data"), **urls}
        environ = dict(os.environ) | {f"NEURAPHAGE_{name}": value for name, value in others.items()}
        script = str(Path(sys.executable).with_name("neuraphage"))
        made = subprocess.run([script, "submit", "x"], env=environ, capture_output=True, text=True, check=True)
        argvs = {call: [script, *call.format(task=made.stdout.strip()).split()] for call in CALLS}
        return {call: median([_once_ms(argv, environ) for _ in range(repeats + 1)][1:]) for call, argv in argvs.items()}


def _once_ms(argv: list[str], environ: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(argv, env=environ, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if b"Traceback" in ended.stderr:
        raise RuntimeError(ended.stderr.decode())
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1_000
