"""From an event to the terminal: how long a person waits to see progress, and to see that they are waited for.

The benchmark plays the worker through the store, so that nothing is measured but the view: a real `neuraphage
attach` on a real terminal, and the time from the moment the server has taken a write to the words on the screen.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pexpect

from neuraphage.client import Client
from neuraphage.model.event import Event
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.ports import Changes, CommitVerdict, Delta, Lease, SuspendTo
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store import live
from neuraphage.store.tasks import RedisStore
from tests.benchmarks.servers import BenchServer

SCRIPT = str(Path(sys.executable).with_name("neuraphage"))
LIMIT_S = 10.0
MOST_BETWEEN_S = 0.15
"""Events come at any moment of a view's round."""


class _Watched:
    """One task, its lease, and a terminal that shows it."""

    def __init__(self, server: BenchServer, folder: Path) -> None:
        settings = Settings(state_url=server.state_url(), broker_url=server.broker_url(), data_dir=folder / "data")
        self.store = RedisStore(settings, SystemClock())
        self.client = Client(settings)
        self.task_id = self.client.submit("be watched")
        self.lease = self._claim()
        env = {name: value for name, value in os.environ.items() if not name.startswith("NEURAPHAGE_")}
        env |= {"NEURAPHAGE_STATE_URL": server.state_url(), "NEURAPHAGE_BROKER_URL": server.broker_url()}
        env |= {"NEURAPHAGE_DATA_DIR": str(folder / "data"), "TERM": "xterm"}
        argv = ["attach", self.task_id]
        self.terminal: Any = pexpect.spawn(SCRIPT, argv, env=env, dimensions=(40, 100), encoding="utf-8")
        self.terminal.expect("created", timeout=LIMIT_S)

    def _claim(self) -> Lease:
        lease = self.store.claim(self.task_id, self.client.get(self.task_id).seq, "bench", os.urandom(8).hex()).lease
        assert lease is not None
        return lease

    def shown_ms(self, write: Callable[[], None], words: str) -> float:
        """Milliseconds from a write that is done to its words on the screen."""
        time.sleep(random.uniform(0, MOST_BETWEEN_S))
        write()
        done_s = time.monotonic()
        self.terminal.expect_exact(words, timeout=LIMIT_S)
        return (time.monotonic() - done_s) * 1000

    def line(self, number: int) -> None:
        """A line of the history."""
        event = Event(kind="ToolSettled", data={"tool": f"tool-{number}", "how": "seen"})
        self._commit(Changes(events=(event,)))

    def piece(self, number: int) -> None:
        """A piece of a reply."""
        live.publish(self.store.context, self.task_id, [Delta("text", f"piece-{number} \n")])

    def question(self, number: int) -> None:
        """A task that waits for its person."""
        prompt = Prompt(
            prompt_id=f"prompt-{number}",
            kind=PromptKind.PERMISSION,
            text=f"May tool-{number} run?",
            options=PERMISSION_OPTIONS,
        )
        self.store.suspend(self.lease, Changes(prompts_opened=(prompt,)), SuspendTo.WAIT)

    def answered(self, number: int) -> None:
        """The person answers, and the worker goes on."""
        self.terminal.sendline("y")
        deadline_s = time.monotonic() + LIMIT_S
        while self.client.get(self.task_id).place != "outbox":
            assert time.monotonic() < deadline_s, "the answer did not arrive"
            time.sleep(0.01)
        self.lease = self._claim()
        self._commit(Changes(prompts_closed=(f"prompt-{number}",)))

    def _commit(self, changes: Changes) -> None:
        verdict = self.store.commit(self.lease, changes).verdict
        assert verdict is CommitVerdict.COMMITTED, verdict
        self.lease = replace(self.lease, token=self.lease.token + 1)

    def close(self) -> None:
        self.terminal.close(force=True)
        self.client.close()


def measure_view(folder: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds to the screen: of progress (lines and pieces), and of questions."""
    progress, waiting = [], []
    with BenchServer(folder / "v") as server:
        watched = _Watched(server, folder)
        try:
            for number in range(rounds):
                progress.append(watched.shown_ms(lambda n=number: watched.line(n), f"tool-{number}: seen"))
                progress.append(watched.shown_ms(lambda n=number: watched.piece(n), f"piece-{number}"))
                waiting.append(watched.shown_ms(lambda n=number: watched.question(n), "answer [no]:"))
                watched.answered(number)
        finally:
            watched.close()
    return progress, waiting
