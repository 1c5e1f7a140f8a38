"""Wake-up messages: the dispatcher of every process, on connections to the broker that are made when first used."""

from __future__ import annotations

import threading

from neuraphage.decide.server_url import broker_address, broker_servers
from neuraphage.queue.dispatcher import QueueDispatcher
from neuraphage.settings import Settings
from neuraphage.store.client import connect
from neuraphage.store.round_trip import RoundTrips

BROKER_RETRIES = 2
"""With the longest wait for an answer, three tries end within the 10 s that a silent broker may cost."""


def build_dispatcher(settings: Settings) -> QueueDispatcher:
    """The dispatcher of these settings; makes no connection.

    Raises:
        SettingsError: the broker's URL cannot be read.
    """
    urls = broker_servers(settings.broker_url.get_secret_value())
    clients = [connect(url, socket_timeout_s=settings.broker_timeout_s, setting="broker_url") for url in urls]
    return QueueDispatcher([RoundTrips(client, BROKER_RETRIES) for client in clients], settings.namespace)


class QueueWaker:
    """Implements ports.Waker: a dispatcher that is made when it is first needed.

    A request that is refused, or that finds its task where no worker looks, needs none.

    Args:
        settings: where the broker is.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._dispatcher: QueueDispatcher | None = None

    def check(self) -> None:
        """See ports.Waker."""
        broker_address(self._settings.broker_url.get_secret_value())

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        """See ports.Dispatcher."""
        return self._made().publish_turn(task_id, iteration, seq, after)

    def queue_length(self) -> int | None:
        """See ports.Dispatcher."""
        return self._made().queue_length()

    def prepare(self) -> None:
        """See ports.Waker."""
        self._made()

    def close(self) -> None:
        """See ports.Waker."""
        if self._dispatcher is not None:
            self._dispatcher.close()

    def _made(self) -> QueueDispatcher:
        """The dispatcher, made at the first call.

        Raises:
            SettingsError: the broker's URL cannot be read.
        """
        with self._lock:
            if self._dispatcher is None:
                self._dispatcher = build_dispatcher(self._settings)
            return self._dispatcher
