"""Celery's own variables, which another project of the same person or process may have set, mean nothing to ours."""

from __future__ import annotations

import pytest
from celery.backends.base import DisabledBackend

from neuraphage.queue.app import make_app
from neuraphage.settings import Settings

OURS = "redis://ours:6379/0"
THEIRS = "redis://theirs:6379/5"


@pytest.fixture
def _foreign_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the shell of somebody who works on a Celery project too."""
    for name in ("CELERY_BROKER_URL", "CELERY_BROKER_READ_URL", "CELERY_BROKER_WRITE_URL"):
        monkeypatch.setenv(name, THEIRS)
    monkeypatch.setenv("CELERY_RESULT_BACKEND", "a_module_that_is_not_installed.Backend")


@pytest.mark.usefixtures("_foreign_variables")
def test_messages_go_to_our_broker_only() -> None:
    """Whichever way a connection is made: by a worker, by a command, by Flower."""
    app = make_app(Settings(broker_url=OURS))
    made = [app.connection(), app.connection_for_read(), app.connection_for_write(), app.amqp.app.pool.connection]
    assert {connection.info()["hostname"] for connection in made} == {"ours"}


@pytest.mark.usefixtures("_foreign_variables")
def test_no_results_are_stored() -> None:
    """A worker loads no backend of another project."""
    assert isinstance(make_app(Settings(broker_url=OURS)).backend, DisabledBackend)
