"""Revoking a turn in Celery cancels its task, and only the task that is still in that turn."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.errors import StoreUnavailable
from neuraphage.model.task import Status
from neuraphage.queue.app import make_app
from neuraphage.queue.names import RUN_TURN, SWEEP
from neuraphage.settings import Settings
from neuraphage.worker import revoked
from storekit import StoreKit, new_kit


class Dropped:
    """What Celery tells of a message that it has dropped."""

    def __init__(self, *args: Any) -> None:
        self.args = args


@pytest.fixture
def kit(monkeypatch: pytest.MonkeyPatch) -> StoreKit:
    """A store that the module takes for its own."""
    kit = new_kit()
    monkeypatch.setattr(revoked, "build_store", lambda settings: kit.store)
    return kit


def task_of(name: str) -> Any:
    """A Celery task of this name, which nobody runs."""

    def body() -> None: ...

    return make_app(Settings()).task(name=name)(body)


def test_a_revoked_turn_cancels_its_task_for_good(kit: StoreKit) -> None:
    """The task is over, and its reason says why."""
    task_id = kit.create()
    revoked.cancel_revoked(task_of(RUN_TURN), Dropped(task_id, 0, 1))
    assert kit.status(task_id) is Status.CANCELLED
    assert kit.store.get(task_id).detail.reason == revoked.REASON


@pytest.mark.parametrize(
    ("name", "iteration", "expired"),
    [
        pytest.param(RUN_TURN, 1, False, id="a turn that it is not in"),
        pytest.param(RUN_TURN, 0, True, id="a message too old, which nobody revoked"),
        pytest.param(SWEEP, 0, False, id="another message"),
    ],
)
def test_nothing_else_is_cancelled(kit: StoreKit, name: str, iteration: int, expired: bool) -> None:
    """Late messages, sweeps that have expired, and turns that are over leave the task alone."""
    task_id = kit.create()
    revoked.cancel_revoked(task_of(name), Dropped(task_id, iteration, 1), expired=expired)
    assert kit.status(task_id) is Status.QUEUED


def test_a_cancel_that_fails_is_logged_and_stops_no_worker(
    kit: StoreKit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The worker's loop calls this: no error of the store may get out. Logs count turns from 1."""
    revoked.cancel_task("task-unknown", 0)

    def away(task_id: str) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(kit.store, "get", away)
    revoked.cancel_task(kit.create(), 0)
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "revoked in Celery, but not cancelled"
    ] * 2
    assert [vars(record)["turn"] for record in caplog.records] == [1, 1]
