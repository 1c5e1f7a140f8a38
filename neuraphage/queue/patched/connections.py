"""Connections of our app that look for a broker every two seconds, however long it was away.

Changes: `ensure_connection` of the connections that our app makes.
Why: kombu comes to wait for half a minute between two tries, and a worker with it.
Read against: Celery 5.7.0, kombu 5.7.0.
"""

from __future__ import annotations

from typing import Any

import kombu
from celery.app.amqp import AMQP

from neuraphage.setting_relations import RECONNECT_S

_kombu: Any = kombu
"""Its classes carry no types."""

RECONNECTING = {"interval_start": 1, "interval_step": 1, "interval_max": RECONNECT_S}
"""Seconds between two tries to reach the broker, in kombu's words."""


class BrokerConnection(_kombu.Connection):  # type: ignore[misc]  # as above
    """kombu's connection, which looks for its broker every two seconds for as long as that is away."""

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        """See kombu."""
        return super().ensure_connection(*args, **RECONNECTING | options)


class BrokerAmqp(AMQP):  # type: ignore[misc]  # as above
    """Celery's AMQP, which makes such connections."""

    Connection = BrokerConnection
