"""Connections of our app look for the broker at once again; other apps of the process keep kombu's."""

from __future__ import annotations

import kombu
import pytest
from celery import Celery
from pydantic import SecretStr

from neuraphage.queue.app import make_app
from neuraphage.queue.patched.connections import BrokerConnection
from neuraphage.settings import Settings

URL = "redis://broker.example/0"


def test_the_broker_is_looked_for_every_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it was away; kombu's own tries come to be half a minute apart."""
    given: dict[str, float] = {}
    monkeypatch.setattr(kombu.Connection, "_ensure_connection", lambda self, *args, **options: given.update(options))
    app = make_app(Settings(broker_url=SecretStr(URL)))
    app.connection_for_read().ensure_connection(None, 5, callback=None)
    assert given["interval_max"] == 2
    assert given["callback"] is None


def test_another_app_of_the_process_is_left_alone() -> None:
    """A user's own Celery app does not get ours."""
    assert isinstance(make_app(Settings(broker_url=SecretStr(URL))).connection_for_write(), BrokerConnection)
    assert not isinstance(Celery("theirs", broker=URL).connection_for_write(), BrokerConnection)
