"""The heartbeat thread: leases are renewed whatever becomes of the connection that shows the process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.errors import AccessRefused, StoreUnavailable
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.lease_keeper import LeaseKeeper
from storekit import StoreKit, new_kit
from turnkit import SilentPresence, until


class DeafPresence(SilentPresence):
    """ports.Presence whose connection never comes to stand: too many clients, or a user that may not subscribe.

    Args:
        error: what each try ends in.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.tries, self._error = 0, error

    def wait(self, timeout_s: float) -> bool:
        self.tries += 1
        raise self._error


@pytest.mark.parametrize("error", [StoreUnavailable("max number of clients"), AccessRefused("no"), RuntimeError("bug")])
def test_leases_are_renewed_while_the_presence_connection_cannot_stand(error: Exception) -> None:
    """A process whose named connection is refused again and again keeps its leases all the same."""
    kit: StoreKit = new_kit(heartbeat_s=0.05, lease_s=20.0)
    _, lease = kit.running()
    presence = DeafPresence(error)
    clock = SystemClock()
    keeper = LeaseKeeper(kit.store, presence, clock, kit.store.context.settings, lambda _: None)
    expiry: Callable[[], float | None] = lambda: kit.client.zscore(kit.keys.leases, lease.task_id)  # noqa: E731 - one use
    with keeper.hold(lease, clock.boottime_s()):
        kit.client.zadd(kit.keys.leases, {lease.task_id: 1})
        keeper.start()
        try:
            until(lambda: expiry() != 1)
            kit.client.zadd(kit.keys.leases, {lease.task_id: 1})
            until(lambda: expiry() != 1)
        finally:
            keeper.stop()
    assert presence.tries > 1
