"""What renews for a worker that is stuck, inside the worker's own process: so a crash at its renewal ends both."""

from __future__ import annotations

import mmap
import os

from neuraphage.ports import HeldRow
from neuraphage.standby.program import StandIn
from neuraphage.standby.shared_layout import SHARED_BYTES
from neuraphage.standby.shared_leases import SharedLeases
from neuraphage.store.standby_order import standby_order
from neuraphage.store.tasks import RedisStore
from neuraphage.testing import Recorder


class Beside:
    """Implements ports.Standby; looks only when it is told to. Made after the fork.

    Args:
        store: whose leases are renewed, over a connection of its own.
        recorder: records each look that renews.
    """

    def __init__(self, store: RedisStore, recorder: Recorder) -> None:
        self._store, self._recorder = store, recorder
        self._shared = SharedLeases()

    def start(self) -> None:
        """See ports.Standby."""

    def stop(self) -> None:
        """See ports.Standby."""
        self._shared.close()

    def hold(self, row: HeldRow) -> None:
        """See ports.Standby."""
        self._shared.hold(row)

    def let_go(self, claim_id: str) -> None:
        """See ports.Standby."""
        self._shared.let_go(claim_id)

    def renewed(self, boottime_s: float) -> None:
        """See ports.Standby."""
        self._shared.renewed(boottime_s)

    def stand_in(self) -> None:
        """Renew all that is held, as when the worker's last renewal is long ago."""
        self._shared.renewed(0.0)
        order = standby_order(self._store.context)
        assert order is not None
        with mmap.mmap(self._shared.descriptor, SHARED_BYTES, prot=mmap.PROT_READ) as shared:
            beside = StandIn(shared, order, os.getpid())
            self._recorder.stand_in(beside).look()
            assert beside._renewed_s, "it has renewed nothing"
            beside._server.close()
