"""Look at servers that someone else runs, before a stack is started on them."""

from __future__ import annotations

from typing import Any

from neuraphage.client_wiring import build_store
from neuraphage.configuration import masked_url
from neuraphage.errors import StackError
from neuraphage.queue.app import BROKER_DOWN, make_app
from neuraphage.settings import Settings

CONNECT_RETRIES = 1
ANSWER_S = 1.0
"""How long workers have to answer."""


def find_workers_of(settings: Settings) -> list[str]:
    """Name the Celery workers that use this namespace now, on this machine or another.

    Args:
        settings: state and broker server, and the namespace.

    Raises:
        StoreError: the state server does not answer, or does not let us in.
        StackError: the broker does not answer, or does not let us in.
    """
    store = build_store(settings)
    try:
        store.now_ms()
    finally:
        store.context.client.close()
    app = make_app(settings)
    try:
        with app.connection_for_write() as connection:
            broker: Any = connection
            broker.ensure_connection(max_retries=CONNECT_RETRIES, interval_start=0.1)
            answers = app.control.ping(timeout=ANSWER_S, connection=connection)
    except BROKER_DOWN as error:
        url = masked_url(settings.broker_url.get_secret_value())
        raise StackError(f"the broker {url} does not answer ({error}); start it, or correct its URL") from None
    return sorted(node for answer in answers for node in answer)
