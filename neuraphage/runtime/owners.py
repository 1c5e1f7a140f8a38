"""Which holders of leases are known to live: an expiry of theirs is no crash.

A process of this host lives while its id and start time are there, frozen or not. One of another host is believed to
live while its named connection stands: nothing here can tell a frozen process from a host that fell silent, and the
count of stalls bounds both.
"""

from __future__ import annotations

import logging

from neuraphage.errors import AccessRefused
from neuraphage.ports import SweepStore
from neuraphage.runtime.host import ProcessIdentity, process_gone

log = logging.getLogger(__name__)


class Owners:
    """Looks at registered processes.

    Args:
        store: tells who is registered and who is connected.
        host: identity of this host.
    """

    def __init__(self, store: SweepStore, host: str) -> None:
        self._store = store
        self._host = host

    def living(self) -> frozenset[str]:
        """Process ids that are known to live now; none where the server does not let this process look.

        Raises:
            StoreUnavailable: the server is away.
        """
        try:
            rows, present = self._store.registered(), self._store.connected()
        except AccessRefused as error:
            log.warning("cannot tell which holders live, so their expired leases count as crashes: %s", error)
            return frozenset()
        return frozenset(
            row.process_id
            for row in rows
            if (
                not process_gone(ProcessIdentity(row.pid, row.start_time))
                if row.host == self._host
                else row.process_id in present
            )
        )
