"""The report of recoveries: all of them, whoever made them."""

from __future__ import annotations

import logging

import pytest
import redis

from neuraphage.model.recovery import RecoveryReport
from neuraphage.store import reports
from storekit import StoreKit


def report(kit: StoreKit) -> RecoveryReport:
    """The report as `recover` shows it."""
    found = reports.last_report(kit.store.context)
    assert found is not None
    return found


def test_a_recovery_without_a_sweep_is_in_the_report(kit: StoreKit) -> None:
    """A watcher, or a prefork parent, makes no report of its own; each of its recoveries is there, with its time."""
    first, _ = kit.running()
    second, _ = kit.running()
    assert reports.last_report(kit.store.context) is None
    kit.recover(first)
    kit.recover(second)
    found = report(kit)
    assert [decision.task_id for decision in found.requeued] == [second, first]
    assert found.swept_at_ms == found.requeued[0].at_ms
    assert not found.is_empty


def test_a_later_sweep_that_finds_nothing_takes_nothing_away(kit: StoreKit) -> None:
    """Nor does one that finds something else: what it found is beside it."""
    task_id, _ = kit.running()
    kit.recover(task_id)
    reports.save_report(kit.store.context, RecoveryReport(swept_at_ms=1))
    assert [decision.task_id for decision in report(kit).requeued] == [task_id]
    late, _ = kit.running()
    kit.expire_lease(late)
    suspect = kit.recover(late, "expired").decision
    assert suspect is not None
    reports.save_report(kit.store.context, RecoveryReport(swept_at_ms=2, suspect=(suspect,)))
    found = report(kit)
    assert [decision.task_id for decision in found.requeued] == [task_id]
    assert [decision.task_id for decision in found.suspect] == [late]


def test_what_is_kept_has_an_end(kit: StoreKit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest ones."""
    monkeypatch.setattr(reports, "MAX_RECOVERIES", 2)
    tasks = [kit.running()[0] for _ in range(3)]
    for task_id in tasks:
        kit.recover(task_id)
    assert [decision.task_id for decision in report(kit).requeued] == [tasks[2], tasks[1]]


def test_a_note_that_is_refused_stops_no_recovery(
    kit: StoreKit, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The decision stands; the log says that the report misses one."""
    task_id, _ = kit.running()

    def refuse(*_: object) -> int:
        raise redis.exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'.")

    monkeypatch.setattr("redis.client.Pipeline.lpush", refuse)
    with caplog.at_level(logging.WARNING):
        assert kit.recover(task_id).seq == 2
    assert "the report of recoveries misses one" in caplog.text
    assert reports.last_report(kit.store.context) is None
