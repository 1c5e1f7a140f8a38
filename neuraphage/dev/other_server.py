"""Look at servers that someone else runs, before a stack is started on them."""

from __future__ import annotations

from typing import Any

from neuraphage.errors import StackError
from neuraphage.queue import BROKER_DOWN, make_app, masked
from neuraphage.settings import Settings
from neuraphage.wiring import build_store

CONNECT_RETRIES = 1


def count_workers(settings: Settings) -> int:
    """How many worker processes use this namespace now, on this machine or another.

    Args:
        settings: state and broker server, and the namespace.

    Raises:
        StoreError: the state server does not answer, or lets us not in.
        StackError: the broker does not answer, or lets us not in.
    """
    store = build_store(settings)
    try:
        workers = len(store.connected())
    finally:
        store.context.client.close()
    url = settings.broker_url.get_secret_value()
    try:
        with make_app(settings).connection_for_write() as connection:
            broker: Any = connection
            broker.ensure_connection(max_retries=CONNECT_RETRIES, interval_start=0.1)
            broker.default_channel.client.ping()
    except BROKER_DOWN as error:
        raise StackError(f"the broker {masked(url)} does not answer ({error}); start it, or correct its URL") from None
    return workers
