"""The sweep as a Celery task: one of a process, so that it knows what the former ones have met."""

from __future__ import annotations

import logging

import pytest

from neuraphage.runtime.sweep import Sweep
from neuraphage.testing import ManualClock
from neuraphage.worker import tasks
from storekit import StoreKit, new_kit
from turnkit import LocalDispatcher


def test_a_broken_record_is_named_by_one_sweep_of_a_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Beat orders a sweep every few seconds: the log must not tell the same record each time, with a traceback."""
    kit: StoreKit = new_kit()
    task_id = kit.create()
    kit.client.hdel(kit.keys.task(task_id), "seq")
    kit.due("outbox", task_id)

    def build_sweep(*_: object) -> Sweep:
        return Sweep(kit.store, LocalDispatcher(), ManualClock(), kit.store.context.settings)

    monkeypatch.setattr(tasks, "build_sweep", build_sweep)
    tasks._sweep.cache_clear()
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            kit.client.delete(kit.keys.sweep_guard)
            assert tasks.sweep() != "skipped: another one runs"
    tasks._sweep.cache_clear()
    assert caplog.text.count("left alone") == 1
