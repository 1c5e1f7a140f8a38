"""The process beside a worker, in this one: with a server, a worker and a clock that a test sets."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from neuraphage.ports import HeldRow
from neuraphage.standby.shared_layout import SHARED_BYTES
from neuraphage.standby.shared_leases import SharedLeases

WORKER = 4_711
BEAT_S, LATE_S, LONGEST_S = 1.0, 1.25, 60.0
"""LATE_S: the first look at which a renewal is late."""
ORDER = {
    "heartbeat_s": BEAT_S,
    "effect_max_s": LONGEST_S,
    "lease_ms": 3_000,
    "leases_key": "leases",
    "task_key": "task:",
    "script": "renew",
}


def claim_of(task: str) -> str:
    """The claim id under which the worker holds or claims a task."""
    return f"claim-{task}"


class Over(Exception):
    """The time of the test is over."""


class Refused(OSError):
    """As the server's client says it."""


class Beside:
    """A worker, the process beside it, their server and the time.

    Attributes:
        runs: whether the worker's interpreter runs.
        renews: whether the worker renews.
        stopped: whether a signal stopped the worker.
        records: the server's tasks, as fence and claim; None for one that is no record.
        renewed: when each task was renewed by the process beside.
        asked: how many calls the server got.
        error: what the server answers instead.
        killed: when the worker was.
        parent: of the process beside.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        paths = list(sys.path)
        from neuraphage.standby import program

        sys.path[:] = paths  # a program looks beside itself
        self.awake_s, self.boot_s = 1_000.0, 5_000.0
        self.runs = self.renews = True
        self.stopped = False
        self.records: dict[str, tuple[str, str] | None] = {}
        self.renewed: dict[str, list[float]] = {}
        self.asked = 0
        self.connected = False
        self.error: BaseException | None = None
        self.killed: list[float] = []
        self.parent = WORKER
        self.each: Callable[[], None] = lambda: None
        self.shared = SharedLeases()
        self._held: tuple[str, ...] = ()
        self._until_s = 0.0
        monkeypatch.setattr(program, "plain_server", SimpleNamespace(PlainServer=lambda _: self, Refused=Refused))
        monkeypatch.setattr(program, "time", SimpleNamespace(monotonic=lambda: self.awake_s, sleep=self._sleep))
        monkeypatch.setattr(program, "boottime_s", lambda: self.boot_s)
        self.is_stopped = program.is_stopped
        monkeypatch.setattr(program, "is_stopped", lambda pid: pid == WORKER and self.stopped)
        monkeypatch.setattr(program, "os", SimpleNamespace(getppid=lambda: self.parent, kill=self._kill))
        shown = mmap.mmap(self.shared.descriptor, SHARED_BYTES, prot=mmap.PROT_READ)
        self.stand_in = program.StandIn(shown, ORDER, WORKER)

    def hold(self, *tasks: str, since_s: float | None = None, fence: int = 7) -> None:
        """The worker holds these and no others, and the server knows it."""
        for task in self._held:
            self.shared.let_go(claim_of(task))
        for task in tasks:
            self.shared.hold(HeldRow(task, fence, claim_of(task), since_s))
            self.records[task] = ("7", claim_of(task))
        self._held = tasks

    def pass_(self, seconds_s: float) -> None:
        """Let time pass."""
        self._until_s = self.awake_s + seconds_s
        with pytest.raises(Over):
            self.stand_in.stand()

    def freeze(self, seconds_s: float) -> None:
        """Nothing of this machine runs for so long."""
        self.awake_s += seconds_s
        self.boot_s += seconds_s

    def times(self, task: str) -> int:
        return len(self.renewed.get(task, []))

    # --- what the program sees ---

    def call(self, *words: Any) -> Any:
        self.asked += 1
        self.connected = True
        if self.error is not None:
            raise self.error
        if words[0] == "HMGET":
            record = self.records.get(words[1].removeprefix("task:"), (None, None))
            if record is None:
                raise Refused("WRONGTYPE")
            assert words[2:] == ("fence", "claim")
            return [None if value is None else value.encode() for value in record]
        name, script, count, leases, *rest = words
        assert (name, script, leases) == ("EVAL", "renew", "leases")
        keys, (lease_ms, *rows) = rest[: count - 1], rest[count - 1 :]
        assert lease_ms == 3_000
        assert keys == [f"task:{task}" for task in rows[::3]]
        for task, said, claim in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
            fence = said.decode() if isinstance(said, bytes) else said
            if self.records[task] == (fence, claim):
                self.renewed.setdefault(task, []).append(self.boot_s)
        return []

    def close(self) -> None:
        self.connected = False

    def _sleep(self, seconds_s: float) -> None:
        if self.awake_s >= self._until_s or self.killed:
            raise Over
        self.freeze(seconds_s)
        if self.runs:
            self.shared.pulse(self.awake_s)
        if self.renews:
            self.shared.renewed(self.boot_s)
        self.each()

    def _kill(self, pid: int, _: int) -> None:
        assert pid == WORKER
        self.killed.append(self.awake_s)
