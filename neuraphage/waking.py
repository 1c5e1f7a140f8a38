"""Wake-up messages of clients and commands. Celery is imported when one is sent: it takes as long as all the rest."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from neuraphage.decide.server_url import broker_address
from neuraphage.settings import Settings

if TYPE_CHECKING:
    from celery import Celery

    from neuraphage.queue import CeleryDispatcher


class CeleryWaker:
    """Implements ports.Waker by a Celery app that is made when it is first needed.

    A request that is refused, or that finds its task where no worker looks, needs none.

    Args:
        settings: where the broker is.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._parts: tuple[Celery, CeleryDispatcher] | None = None

    def check(self) -> None:
        """See ports.Waker."""
        broker_address(self._settings.broker_url.get_secret_value())

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        """See ports.Dispatcher."""
        return self.made()[1].publish_turn(task_id, iteration, seq, after)

    def queue_length(self) -> int | None:
        """See ports.Dispatcher."""
        return self.made()[1].queue_length()

    def prepare(self) -> None:
        """See ports.Waker."""
        self.made()

    def close(self) -> None:
        """See ports.Waker."""
        if self._parts is not None:
            self._parts[0].close()

    def made(self) -> tuple[Celery, CeleryDispatcher]:
        """App and dispatcher, made at the first call.

        Raises:
            SettingsError: the broker's URL cannot be read.
        """
        from neuraphage.queue import CeleryDispatcher, make_app  # noqa: PLC0415 - see above

        with self._lock:
            if self._parts is None:
                app = make_app(self._settings)
                self._parts = app, CeleryDispatcher(app)
            return self._parts
