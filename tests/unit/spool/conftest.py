"""What the tests of the spool share: a spool, commands with their own id, and waits for conditions."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from neuraphage.ports import SpoolCommand
from neuraphage.spool import CommandSpool
from patience import PATIENCE_S
from spoolkit import DONE_ID, LOST_ID, SEALED_ID, ended

MAX_OUTPUT_BYTES = 1_000_000


class Calm:
    """An interrupt that never asks to stop."""

    def check(self) -> None:
        """Go on."""

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Never wake."""
        return lambda: None


@pytest.fixture
def calm() -> Calm:
    """An interrupt that never asks to stop."""
    return Calm()


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[CommandSpool]:
    """A spool of its own, whose commands are ended after the test."""
    spool = CommandSpool(tmp_path / "spool", MAX_OUTPUT_BYTES)
    yield spool
    for effect_id, _ in spool.running():
        spool.cancel(effect_id)


@pytest.fixture
def order(tmp_path: Path) -> Callable[..., SpoolCommand]:
    """Makes a shell command with an id of its own."""

    def make(line: str, timeout_s: float = 30.0, **changes: object) -> SpoolCommand:
        fields: dict[str, object] = {
            "effect_id": uuid.uuid4().hex,
            "argv": ("/bin/bash", "-c", line),
            "cwd": str(tmp_path),
            "timeout_s": timeout_s,
            "env": {"PATH": os.environ["PATH"]},
            "task_id": "task-of-test",
        }
        return SpoolCommand(**(fields | changes))  # type: ignore[arg-type]  # a test's own keywords

    return make


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Waits for a condition, and fails when it does not come."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline_s, "the condition did not come"
            time.sleep(0.005)

    return wait


@pytest.fixture
def token() -> str:
    """A number of seconds that no other process sleeps: the mark by which `living` finds processes."""
    return f"9{uuid.uuid4().int % 10**9:09d}"


@pytest.fixture
def living(token: str) -> Callable[[], list[int]]:
    """The processes that have the token among their arguments and still run."""

    def find() -> list[int]:
        found = []
        for process in psutil.process_iter(["cmdline", "status"]):
            if token in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        return found

    return find


@pytest.fixture
def guardians(tmp_path: Path) -> Callable[[str], tuple[int, int]]:
    """Process ids of an entry's runner and keeper."""

    def read(effect_id: str) -> tuple[int, int]:
        words = (tmp_path / "spool" / effect_id / "alive").read_text(encoding="utf-8").split()
        return int(words[1]), int(words[3])

    return read


@pytest.fixture
def forked() -> Callable[[Callable[[], object]], int]:
    """Runs a function in a forked process of its own session, which then waits to be killed; returns its id."""

    def fork(work: Callable[[], object]) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                work()
                time.sleep(60)
            finally:
                os._exit(70)
        return pid

    return fork


@pytest.fixture
def filled(tmp_path: Path) -> CommandSpool:
    """A spool with an entry of each kind that is over."""
    spool = CommandSpool(tmp_path / "spool", 1_000)
    ended(spool._root / DONE_ID)
    spool.seal(SEALED_ID)
    (spool._root / LOST_ID).mkdir()
    (spool._root / LOST_ID / "decision").write_text("started", encoding="utf-8")
    return spool
