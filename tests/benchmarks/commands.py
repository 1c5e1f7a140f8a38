"""What a command that needs no worker takes: CPU time of its whole process, which other load changes least."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from tests.benchmarks.servers import BenchServer
from tests.benchmarks.targets import PROMPT_ID, TARGETS

CALLS = (
    "--help",
    "version",
    "config show",
    "env",
    "where",
    "health",
    "tools list",
    "list",
    "show {queued}",
    "events {queued}",
    "why {queued}",
    "checkpoint {queued}",
    "repair",
    "recover",
    "limit {queued} --max-turns 60",
    "pause {queued}",
    "cancel {queued}",
    "send {asking} x",
    "doctor",
    "submit x",
    f"answer {{asking}} {PROMPT_ID} yes",
    "resume {paused}",
    "retry {failed}",
)
"""Those that need no worker; each run has a task of its own, which stands as the word in braces says. The last
five speak to the broker, which takes Celery."""
NOT_WELL = ("health", "doctor")
"""They say by their exit code that no worker is here."""


def cpu_ms(folder: Path, repeats: int, warm_ups: int = 1) -> dict[str, float]:
    """Median CPU time of each command, user and system together, in milliseconds.

    Args:
        folder: for the server and the data folder.
        repeats: runs of each command that are counted.
        warm_ups: runs before them, which read its files from the disk.

    Raises:
        RuntimeError: a command did not do what it is timed for.
    """
    with BenchServer(folder / "server") as server:
        urls = {"state_url": server.state_url(), "broker_url": server.broker_url()}
        data_dir = folder / "data"
        others = {"DATA_DIR": str(data_dir), **{name.upper(): url for name, url in urls.items()}}
        environ = dict(os.environ) | {f"NEURAPHAGE_{name}": value for name, value in others.items()}
        store = RedisStore(Settings(data_dir=data_dir, **urls), SystemClock())
        found = {}
        for call in CALLS:
            taken = [_once_ms(_argv(store, call), environ) for _ in range(warm_ups + repeats)]
            found[call] = median(taken[warm_ups:])
        return found


def _argv(store: RedisStore, call: str) -> list[str]:
    """The words of a call, for a new task."""
    script = str(Path(sys.executable).with_name("neuraphage"))
    return [script, *re.sub(r"{(\w+)}", lambda found: TARGETS[found[1]](store), call).split()]


def _once_ms(argv: list[str], environ: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(argv, env=environ, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if b"Traceback" in ended.stderr or ended.returncode > (argv[1] in NOT_WELL):
        raise RuntimeError(f"{argv[1:]} ended with {ended.returncode}: {ended.stderr.decode()}")
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1_000
