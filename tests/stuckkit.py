"""A worker process that holds its interpreter when it is told to, and looks at its lease from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from source_tree import ROOT
from storekit import StoreKit
from turnkit import until

WORKER = Path(__file__).with_name("stuck_worker.py")


def threads_of(process: int) -> list[tuple[str, int]]:
    """State of each thread, and how often it has begun to wait (Linux)."""
    found = []
    for thread in sorted(Path(f"/proc/{process}/task").iterdir(), key=lambda path: int(path.name)):
        status = (thread / "status").read_text(encoding="ascii")
        state, waits = (status.partition(f"\n{name}:")[2].split()[0] for name in ("State", "voluntary_ctxt_switches"))
        found.append((state, int(waits)))
    return found


def all_wait(process: int, threads: int) -> None:
    """Wait until a process has so many threads, and each of them waits for something that has not come since."""
    seen: list[list[tuple[str, int]]] = [[]]

    def at_rest() -> bool:
        seen.append(threads_of(process))
        return seen[-1] == seen[-2] and [state for state, _ in seen[-1]] == ["S"] * threads

    until(at_rest)


class StuckWorker:
    """One process with a lease, and the process beside it.

    Args:
        kit: of the store.
        url: of the state server.
        folder: its current folder.
        settings: of the worker, beside short times.
    """

    def __init__(self, kit: StoreKit, url: str, folder: Path, **settings: Any) -> None:
        self.kit = kit
        values = {"heartbeat_s": 0.2, "lease_s": 1.5, "state_url": url, "data_dir": folder, **settings}
        env = {name: value for name, value in os.environ.items() if not name.startswith("NEURAPHAGE_")}
        env |= {f"NEURAPHAGE_{name.upper()}": str(value) for name, value in values.items()}
        env["PYTHONPATH"] = str(ROOT)
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=env,
        )
        self.beside = 0

    def hold(self, way: str = "hold") -> str:
        """Claim a task; returns its id."""
        task_id = self.kit.create()
        self.beside = int(self.ask(f"{way} {task_id}"))
        return task_id

    def ask(self, words: str) -> str:
        """Give an order and read the answer."""
        self.tell(words)
        return self.answer()

    def tell(self, words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def expiry_ms(self, task_id: str) -> float:
        """When the lease ends; 0 when there is none."""
        return float(self.kit.client.zscore(self.kit.keys.leases, task_id) or 0.0)

    def is_over(self, task_id: str) -> bool:
        return self.expiry_ms(task_id) < self.kit.store.now_ms()

    def is_renewed(self, task_id: str, times: int = 3) -> None:
        """Wait until the lease was renewed so often from here on; it must not be over in between."""
        for _ in range(times):
            before = self.expiry_ms(task_id)
            until(lambda before=before: self.expiry_ms(task_id) > before)

    def kill(self) -> None:
        """kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
