"""Flower as a process, started as an operator would: settings and login in its environment, nothing in its argv."""

from __future__ import annotations

import base64
import json
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from neuraphage.dev.local_model import free_port
from patience import PATIENCE_S
from stackkit.process import StackProcess

USER = "operator"
COLUMNS = "uuid,state,args,result,received,runtime"
"""Those that tell most of a turn; they fit a window of 1400 pixels."""


class Flower:
    """A running Flower.

    Args:
        process: it.
        port: on loopback.
        password: of USER.
    """

    def __init__(self, process: StackProcess, port: int, password: str) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"
        self._login = base64.b64encode(f"{USER}:{password}".encode()).decode()

    def get(self, path: str) -> str:
        """A page or an answer of its API."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Basic {self._login}"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            text: str = answer.read().decode()
            return text

    def turns(self) -> dict[str, dict[str, Any]]:
        """What it knows of turns, by message id."""
        found: dict[str, dict[str, Any]] = json.loads(self.get("/api/tasks?taskname=neuraphage.run_turn"))
        return found

    def online(self) -> dict[str, bool]:
        """Which workers it has heard of, and whether they are there."""
        found: dict[str, bool] = json.loads(self.get("/api/workers?status=1"))
        return found

    def workers(self) -> dict[str, Any]:
        """What the workers tell it of themselves, asked anew."""
        found: dict[str, Any] = json.loads(self.get("/api/workers?refresh=1"))
        return found


@contextmanager
def running_flower(env: Mapping[str, str], folder: Path, password: str) -> Iterator[Flower]:
    """Run Flower over a stack.

    Args:
        env: of a process of the stack.
        folder: for its log.
        password: of USER.
    """
    port = free_port()
    own = {
        "FLOWER_ADDRESS": "127.0.0.1",
        "FLOWER_PORT": str(port),
        "FLOWER_BASIC_AUTH": f"{USER}:{password}",
        "FLOWER_TASKS_COLUMNS": COLUMNS,
    }
    argv = (sys.executable, "-m", "celery", "-A", "workers.app", "flower")
    process = StackProcess("flower", argv, {**env, **own}, folder / "flower.log", ready_text="Visit me at")
    process.start()
    try:
        yield Flower(process, port, password)
    finally:
        process.destroy()
