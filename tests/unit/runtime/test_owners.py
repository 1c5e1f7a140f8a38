"""Whose expired lease is no crash: processes that are known to live."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.errors import AccessRefused, StoreUnavailable
from neuraphage.ports import ProcessRow, RecoverVerdict
from neuraphage.runtime.host import ProcessIdentity, this_process
from neuraphage.runtime.owners import Owners
from neuraphage.runtime.sweep import Sweep
from neuraphage.testing import ManualClock
from storekit import StoreKit, new_kit
from turnkit import LocalDispatcher

HERE, THERE = "boot-1", "boot-2"
ALIVE = this_process()
REUSED = ProcessIdentity(ALIVE.pid, ALIVE.start_time - 1)


class World:
    """A task whose lease `p1` lets run out again and again."""

    def __init__(self) -> None:
        self.kit: StoreKit = new_kit()
        self.present: Callable[[], frozenset[str]] = frozenset
        self.kit.store.connected = self._connected  # type: ignore[method-assign]  # a test decides who is there
        self.owners = Owners(self.kit.store, HERE)
        settings = self.kit.store.context.settings
        self.sweep = Sweep(self.kit.store, LocalDispatcher(), ManualClock(), settings, self.owners.living)
        self.task_id = self.kit.create()

    def _connected(self) -> frozenset[str]:
        return self.present()

    def holder(self, host: str, identity: ProcessIdentity = ALIVE) -> None:
        """Register the holder."""
        self.kit.store.register(ProcessRow("p1", host, identity.pid, identity.start_time, 0))

    def lapse(self) -> tuple[RecoverVerdict, int]:
        """One lease runs out and is taken at the second visit; the verdict, and the count of crashes then."""
        self.kit.claim(self.task_id)
        self.kit.expire_lease(self.task_id)
        now_ms = self.kit.store.now_ms()
        self.sweep.expired(now_ms)
        self.kit.age_mark(self.task_id)
        (answer,) = self.sweep.expired(now_ms)
        return answer.verdict, self.kit.store.get(self.task_id).counters.recoveries


@pytest.fixture
def world() -> World:
    return World()


def test_a_living_process_of_this_host_has_not_crashed(world: World) -> None:
    """Whatever its connection does: its task outlives more lapses than deaths would be allowed."""
    world.holder(HERE)
    for _ in range(5):
        assert world.lapse() == (RecoverVerdict.RECOVERED, 0)


def test_a_process_elsewhere_lives_while_its_connection_stands(world: World) -> None:
    """An expiry by itself tells nothing of another host; a connection that is gone does."""
    world.holder(THERE)
    world.present = lambda: frozenset({"p1"})
    assert world.lapse() == (RecoverVerdict.RECOVERED, 0)
    world.present = frozenset
    assert world.lapse() == (RecoverVerdict.RECOVERED, 1)


@pytest.mark.parametrize("known", ["gone", "unregistered"])
def test_who_is_not_known_to_live_has_crashed(world: World, known: str) -> None:
    """A pid that another process has now, and a holder that nobody knows: the bound of deaths holds."""
    if known == "gone":
        world.holder(HERE, REUSED)
        world.present = lambda: frozenset({"p1"})
    assert [world.lapse() for _ in range(3)] == [
        (RecoverVerdict.RECOVERED, 1),
        (RecoverVerdict.RECOVERED, 2),
        (RecoverVerdict.FAILED, 3),
    ]


def test_a_server_that_forbids_the_look_lets_every_expiry_count(world: World) -> None:
    """Guards fail closed; one that is away ends the sweep, which comes again."""
    world.holder(HERE)

    def refused() -> frozenset[str]:
        raise AccessRefused("no CLIENT LIST")

    def away() -> frozenset[str]:
        raise StoreUnavailable("away")

    world.present = refused
    assert world.lapse() == (RecoverVerdict.RECOVERED, 1)
    world.present = away
    with pytest.raises(StoreUnavailable):
        world.lapse()
