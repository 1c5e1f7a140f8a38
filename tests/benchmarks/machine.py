"""Readings of the machine: CPU time of process trees, other load, memory, waiting for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

QUIET_LEVEL = 0.25


def wait_until(holds: Callable[[], bool], what: str, *, limit_s: float = 60.0, every_s: float = 0.005) -> None:
    """Wait for a condition.

    Raises:
        TimeoutError: it did not come.
    """
    limit = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > limit:
            raise TimeoutError(f"waited {limit_s} s for {what}")
        time.sleep(every_s)


def tree_cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds of processes, their living children and the children they have reaped."""
    processes: dict[int, psutil.Process] = {}
    for pid in pids:
        try:
            root = psutil.Process(pid)
            processes.update({p.pid: p for p in [root, *root.children(recursive=True)]})
        except psutil.Error:
            continue
    total = 0.0
    for process in processes.values():
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


def rss_bytes(pid: int) -> int:
    """Resident memory of one process."""
    return int(psutil.Process(pid).memory_info().rss)


def others_busy(interval_s: float = 0.3) -> float:
    """Share of both cores in use now (0 to 1), while nothing of ours runs."""
    return float(psutil.cpu_percent(interval_s)) / 100


def wait_quiet(limit_s: float) -> float:
    """Wait for a quiet machine, but not for ever; how busy it is at the end."""
    limit = time.monotonic() + limit_s
    while (busy := others_busy()) > QUIET_LEVEL and time.monotonic() < limit:
        pass
    return busy


def describe() -> str:
    """Processor, cores, kernel."""
    models = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if "model name" in line
    ]
    release = Path("/proc/sys/kernel/osrelease").read_text(encoding="utf-8").strip()
    return f"{models[0]}, {len(models)} cores, Linux {release}"
