"""A watcher that sees whom a test lets it see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuraphage.ports import ProcessRow
from neuraphage.runtime.election import HostElection
from neuraphage.runtime.host import ProcessIdentity, this_process
from neuraphage.runtime.sweep import Sweep
from neuraphage.runtime.watcher import Watcher
from neuraphage.testing import ManualClock
from storekit import StoreKit, new_kit
from turnkit import LocalDispatcher

HERE, THERE = "boot-1", "boot-2"
ALIVE = this_process()
REUSED = ProcessIdentity(ALIVE.pid, ALIVE.start_time - 1)
"""Its number belongs to a later process: it is gone for certain."""


class Bench:
    """A watcher that sees whom a test lets it see; one task is held by process `p1`.

    Args:
        folder: of the election.
        settings: see Settings.
    """

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.kit: StoreKit = new_kit(**settings)
        self.folder = folder
        self.clock = ManualClock()
        self.settings = self.kit.store.context.settings
        self.present: Callable[[], frozenset[str]] = lambda: frozenset({"p1"})
        self.kit.store.connected = self._connected  # type: ignore[method-assign]  # a test decides who is there
        self.dispatcher = LocalDispatcher()
        sweep = Sweep(self.kit.store, self.dispatcher, self.clock, self.settings)
        self.watcher = Watcher(self.kit.store, sweep, self.clock, self.settings, HERE, HostElection(folder, HERE))
        self.task_id, _ = self.kit.running()

    def _connected(self) -> frozenset[str]:
        return self.present()

    def enter(self, host: str, identity: ProcessIdentity = ALIVE) -> None:
        """Register the holder."""
        self.kit.store.register(ProcessRow("p1", host, identity.pid, identity.start_time, 0))

    def vanish(self) -> None:
        """The holder's connection is gone."""
        self.present = frozenset

    def look_after(self, seconds_s: float) -> int:
        """Let time pass, then look."""
        self.clock.advance(seconds_s)
        return self.watcher.look()
