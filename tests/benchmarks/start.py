"""What the start of a worker takes: CPU time of all its processes until it says that it is ready."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path

import psutil

from tests.benchmarks.contenders import ROOT, environment
from tests.benchmarks.machine import tree_cpu_s, wait_until
from tests.benchmarks.servers import BenchServer

READY = b" ready."
WORKERS = {
    "-P threads -c 8 -Q np.run": {"ANTHROPIC_API_KEY": "not-used"},
    "-P solo -Q np.run": {"ANTHROPIC_API_KEY": "not-used"},
    "-P prefork -c 2 -Q np.run": {"ANTHROPIC_API_KEY": "not-used"},
    "-P threads -c 2 -Q np.control": {"ANTHROPIC_API_KEY": ""},
}
"""Options of each, and what its environment has beside the addresses."""


def cpu_s(folder: Path, repeats: int) -> dict[str, float]:
    """Least CPU time of each start, user and system together; other load only adds to it.

    Args:
        folder: for the server, the data folder and logs.
        repeats: starts of each; one more, which reads the files from the disk, is not counted.
    """
    with BenchServer(folder / "server") as server:
        environ = environment(server, server, folder)
        return {
            options: min([_once_s(folder, options.split(), environ | more) for _ in range(repeats + 1)][1:])
            for options, more in WORKERS.items()
        }


def _once_s(folder: Path, options: list[str], environ: dict[str, str]) -> float:
    log = folder / f"start-{uuid.uuid4().hex[:6]}.log"
    argv = [sys.executable, "-m", "celery", "-A", "neuraphage.celery_app", "worker", "-l", "INFO", *options]
    argv += ["--without-gossip", "--without-mingle"]
    with log.open("wb") as output:
        process = subprocess.Popen(argv, stdout=output, stderr=output, env=environ, cwd=ROOT, start_new_session=True)
    try:
        wait_until(lambda: READY in log.read_bytes() or process.poll() is not None, f"a worker to be ready, see {log}")
        if process.poll() is not None:
            raise RuntimeError(log.read_text(encoding="utf-8"))
        return tree_cpu_s([process.pid])
    finally:
        below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        for one in (process, *below):
            one.kill()
        process.wait(5)
