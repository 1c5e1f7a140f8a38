"""Scenarios beyond one death: a process that stops, loses its task and goes on; a server that loses its tail."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from crash_cases import DIED, Case, fork, save_facts, wait_for_exit
from crash_driver import Driver, Finder
from crash_world import Site, World

from neuraphage.testing import Call, CrashInjector, CrashPoint, Side
from patience import PATIENCE_S

WAIT_LIMIT_S = PATIENCE_S


def wait_for(file: Path) -> None:
    """Wait until the file is there."""
    deadline_s = time.monotonic() + WAIT_LIMIT_S
    while not file.exists():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"{file.name} did not come in {WAIT_LIMIT_S} s")
        time.sleep(0.005)


def _stopping(site: Site, name: str, point: CrashPoint | None, *, beats: bool = False) -> Callable[[], None]:
    """A process that stops at its point until the file `<name>.go` is there; then its heartbeat may come first."""

    def process() -> None:
        def stop() -> None:
            (site.folder / f"{name}.stopped").touch()
            wait_for(site.folder / f"{name}.go")
            if beats:
                world.process.keeper.renew_now()

        world = World(site, CrashInjector(point, stop))
        if name == "first":
            world.plant_old_task()
            world.plant_schedule()
        Driver(world, Finder.SWEEP).run()

    return process


def _ended(pid: int, name: str) -> None:
    code = wait_for_exit(pid)
    if code != 0:
        raise AssertionError(f"the {name} process ended with {code}, see above")


def run_zombie(case: Case, site: Site) -> None:
    """The first process stops at the point; another one does the whole rest; then the first goes on."""
    site.prepare()
    first = fork(_stopping(site, "first", case.points[0]))
    wait_for(site.folder / "first.stopped")
    _ended(fork(_stopping(site, "second", None)), "second")
    (site.folder / "first.go").touch()
    _ended(first, "first")
    save_facts(site)


def run_zombie_beside(case: Case, site: Site) -> None:
    """Both stop before they wait for the same command; the first hears that its lease is lost while it runs."""
    site.prepare()
    site.hold.touch()
    first = fork(_stopping(site, "first", case.points[0], beats=True))
    wait_for(site.folder / "first.stopped")
    second = fork(_stopping(site, "second", case.points[0]))
    wait_for(site.folder / "second.stopped")
    (site.folder / "first.go").touch()
    _ended(first, "first")
    site.hold.unlink()
    (site.folder / "second.go").touch()
    _ended(second, "second")
    save_facts(site)


class LostTail(CrashInjector):
    """Dies after a command was started, and takes the commit that announced it along: the server lost its tail.

    Args:
        site: the case.
    """

    def __init__(self, site: Site) -> None:
        super().__init__(CrashPoint("Spool.start", 1, Side.AFTER), self._lose)
        self._pattern = f"np:{{{site.settings.namespace}}}:*"
        self._saved: dict[bytes, tuple[int, bytes]] = {}
        self.world: World | None = None

    def entering(self, call: Call) -> None:
        """Remember everything as it was before each commit."""
        if call.name == "TurnStore.commit" and self.world is not None:
            client = self.world.store.context.client
            found = {name: (client.pttl(name), client.dump(name)) for name in client.scan_iter(match=self._pattern)}
            self._saved = {name: (max(0, left_ms), raw) for name, (left_ms, raw) in found.items() if raw is not None}
        super().entering(call)

    def _lose(self) -> None:
        assert self.world is not None
        client = self.world.store.context.client
        client.delete(*client.scan_iter(match=self._pattern))
        for name, (left_ms, raw) in self._saved.items():
            client.restore(name, left_ms, raw)
        os._exit(DIED)


def run_lost_tail(case: Case, site: Site) -> None:
    """See LostTail; another process goes on from the older state."""

    def first() -> None:
        injector = LostTail(site)
        injector.world = World(site, injector)
        injector.world.plant_old_task()
        injector.world.plant_schedule()
        Driver(injector.world, Finder.SWEEP).run()

    site.prepare()
    code = wait_for_exit(fork(first))
    assert code == DIED, f"the first process ended with {code}, see above"
    _ended(fork(_stopping(site, "second", None)), "second")
    save_facts(site)
