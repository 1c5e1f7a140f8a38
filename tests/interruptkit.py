"""Things that happen to a task while a worker is busy with it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from neuraphage.model.message import ModelReply
from patience import PATIENCE_S
from turnkit import Rig, until

SLEEP_S = str(9_000_000 + os.getpid())
SLEEP = {"command": f"echo begun >> ran; sleep {SLEEP_S}"}
"""A command that ends only when it is made to."""


def sleepers() -> list[int]:
    """Processes of SLEEP that still run."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["cmdline"] == ["sleep", SLEEP_S] and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


def while_streaming(act: Callable[[], Any], reply: ModelReply) -> Callable[..., ModelReply]:
    """A model step during which something happens, and which listens to its interrupt."""

    def step(request: Any, show: Any, interrupt: Any) -> ModelReply:
        act()
        interrupt.check()
        return reply

    return step


@contextmanager
def working(rig: Rig) -> Iterator[Path]:
    """A step of the rig on a thread, up to its running command; it must end by itself afterwards."""
    outcome: list[str] = []
    thread = threading.Thread(target=lambda: outcome.append(rig.step()))
    thread.start()
    try:
        until((rig.folder / "ran").exists)
        yield rig.folder / "ran"
        thread.join(PATIENCE_S)
        assert outcome
    finally:
        for effect_id, _ in rig.services.spool.running():
            rig.services.spool.cancel(effect_id)
        thread.join(PATIENCE_S)


def heard(rig: Rig, act: Callable[[], Any]) -> Callable[[], None]:
    """Do something, and let the heartbeat tell the worker."""

    def both() -> None:
        act()
        rig.keeper.renew_now()

    return both


RESERVED_SIGNALS = 0b11 << 31
"""The mask of 32 and 33, which the C library keeps for itself: its posix_spawn ignores them in what it starts."""
