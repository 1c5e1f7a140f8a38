"""Ask both servers and all workers how they are, for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery

from neuraphage.configuration import masked_url
from neuraphage.decide.server_findings import ServerInfo
from neuraphage.dev.plain_port import refuse_plain_port
from neuraphage.errors import StackError
from neuraphage.queue.app import BROKER_DOWN, make_app
from neuraphage.queue.names import CONTROL_QUEUE, RUN_QUEUE
from neuraphage.settings import Settings
from neuraphage.store.server_info import info_of, read_server

WORKED_QUEUES = (RUN_QUEUE, CONTROL_QUEUE)
"""Messages in each of these wait for ever when no worker takes from it."""
ANSWER_S = 1.5
"""How long workers have to answer."""


def read_state_server(settings: Settings) -> ServerInfo:
    """What the state server tells about itself.

    Raises:
        StoreError: it does not answer, or does not let us in.
        StackError: its URL asks for TLS, which its port does not speak.
        SettingsError: its URL cannot be read.
    """
    url = settings.state_url.get_secret_value()
    refuse_plain_port(url, "the state server")
    return read_server(url)


def read_broker(settings: Settings) -> ServerInfo:
    """What the broker tells about itself, over a connection as Celery makes it.

    Raises:
        StackError: it does not answer, or does not let us in, or its URL asks for TLS, which its port does not speak.
        SettingsError: its URL cannot be read.
    """
    refuse_plain_port(settings.broker_url.get_secret_value(), "the broker")
    with _app(settings) as (_, connection):
        return info_of(connection.default_channel.client)


def queues_of_workers(settings: Settings) -> dict[str, list[str]]:
    """The queues that each worker of this namespace takes messages from, by its node name; on any host.

    Raises:
        StackError: the broker does not answer, or takes no messages.
        SettingsError: its URL cannot be read.
    """
    with _app(settings) as (app, connection):
        try:
            answers = app.control.inspect(timeout=ANSWER_S, connection=connection).active_queues() or {}
        except connection.channel_errors as error:  # full, or read-only
            raise StackError(f"the broker does not carry the question to the workers: {error}") from None
    return {node: [queue["name"] for queue in queues] for node, queues in answers.items()}


@contextmanager
def _app(settings: Settings) -> Iterator[tuple[Celery, Any]]:
    url = masked_url(settings.broker_url.get_secret_value())
    app = make_app(settings)
    try:
        with app.connection_for_write() as connection:
            broker: Any = connection
            broker.ensure_connection(max_retries=1, interval_start=0.1)
            yield app, connection
    except BROKER_DOWN as error:
        raise StackError(f"the broker {url} does not answer: {error}") from None
    finally:
        app.close()
