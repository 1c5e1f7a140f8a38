"""Our app has a transport of its own for `rediss`; other apps of the process keep kombu's."""

from __future__ import annotations

import kombu
import pytest
from celery import Celery
from pydantic import SecretStr

from neuraphage.queue import make_app
from neuraphage.queue.patched.connections import Transport
from neuraphage.settings import Settings

TLS_URL = "rediss://broker.example:6380/0"


def test_every_connection_of_our_app_by_tls_has_it() -> None:
    """For reading, for writing, from the pool, and a copy of one: workers and Flower clone what they are given."""
    app = make_app(Settings(broker_url=SecretStr(TLS_URL)))
    made = [app.connection(), app.connection_for_read(), app.connection_for_write(), app.connection_for_read().clone()]
    assert {connection.get_transport_cls() for connection in made} == {Transport}
    assert {connection.transport_cls for connection in made} == {"rediss"}
    assert {connection.as_uri() for connection in made} == {kombu.Connection(TLS_URL).as_uri()}


def test_a_plain_connection_has_kombus() -> None:
    """Nothing is changed for `redis://`."""
    app = make_app(Settings(broker_url=SecretStr("redis://broker.example/0")))
    assert not issubclass(app.connection_for_write().get_transport_cls(), Transport)


def test_the_broker_is_looked_for_every_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it was away; kombu's own tries come to be half a minute apart."""
    given: dict[str, float] = {}
    monkeypatch.setattr(kombu.Connection, "_ensure_connection", lambda self, *args, **options: given.update(options))
    app = make_app(Settings(broker_url=SecretStr("redis://broker.example/0")))
    app.connection_for_read().ensure_connection(None, 5, callback=None)
    assert given["interval_max"] == 2
    assert given["callback"] is None


def test_another_app_of_the_process_is_left_alone() -> None:
    """A user's own Celery app by TLS, and a bare connection of kombu's, do not get ours."""
    make_app(Settings(broker_url=SecretStr(TLS_URL)))
    theirs = Celery("theirs", broker=TLS_URL)
    assert theirs.connection_for_write().get_transport_cls().__module__ == "kombu.transport.redis"
    assert kombu.Connection(TLS_URL).get_transport_cls().__module__ == "kombu.transport.redis"
