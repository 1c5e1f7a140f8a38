"""The threads of a health reporter: a failure of any kind costs one record, never the thread."""

from __future__ import annotations

import json
import logging
from contextlib import nullcontext
from pathlib import Path

import pytest

from neuraphage.errors import AccessRefused, DamagedKey, StoreError, StoreUnavailable
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.health import TRIED_INTERVAL_S, HealthReporter, read_health
from neuraphage.runtime.host import this_process
from neuraphage.testing import ManualClock
from turnkit import until


class Failing:
    """ports.health.HealthStore, and who asks whether messages are taken in: each fails once by a bug."""

    def __init__(self) -> None:
        self.asked, self.looked = 0, 0

    def touch_health(self, name: str, ttl_ms: int) -> None:
        self.asked += 1
        if self.asked == 1:
            raise ValueError("a reply that nobody foresaw")

    def check_access(self) -> bool:
        return True

    def consuming(self) -> bool:
        self.looked += 1
        if self.looked == 2:  # the first look is that of the start, which may fail
            raise RuntimeError("a consumer that is being taken down")
        return True


def test_both_threads_outlive_a_bug(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The process is live and ready at the next record, and the log says what was wrong."""
    failing, clock = Failing(), SystemClock()
    reporter = HealthReporter(tmp_path, failing, clock, this_process(), "worker", 0.1, failing.consuming, "here")
    with caplog.at_level(logging.ERROR):
        reporter.start()
        until(lambda: failing.asked > 1 and failing.looked > 2 and read_health(tmp_path, clock, "here")[0].ready)
        reporter.stop()
    assert "nobody foresaw" in caplog.text
    assert "taken down" in caplog.text


class Refusing:
    """ports.health.HealthStore: takes a write, and refuses what a turn needs as it is told to."""

    def __init__(self, *, tells: bool = True) -> None:
        self.error: StoreError | None = None
        self.checked, self._tells = 0, tells

    def touch_health(self, name: str, ttl_ms: int) -> None:
        pass

    def check_access(self) -> bool:
        self.checked += 1
        if self.error is not None:
            raise self.error
        return self._tells


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (AccessRefused("this user may not run RPUSH"), "this user may not run RPUSH"),
        (DamagedKey("np:x:outbox is a list"), "np:x:outbox is a list"),
        (StoreUnavailable("no answer"), "the state server takes no writes of it"),
    ],
)
def test_who_could_end_no_turn_is_not_ready(tmp_path: Path, error: StoreError, problem: str) -> None:
    """Rules and keys change while workers run: one taken write proves nothing. Ready again without a restart."""
    store, clock = Refusing(), ManualClock()  # no time passes between what is written and what is read
    reporter = HealthReporter(tmp_path, store, clock, this_process(), "worker", 1.0, lambda: True, "here")
    for refuses in (False, True, False):
        store.error = error if refuses else None
        with pytest.raises(type(error)) if refuses else nullcontext():
            reporter.ask()
        reporter.write()
        [health] = read_health(tmp_path, clock, "here")
        assert (health.live, health.ready, health.problems) == (True, not refuses, (problem,) if refuses else ())


def test_a_server_that_has_to_be_tried_is_tried_seldom(tmp_path: Path) -> None:
    """Before Redis 7 the question is made of writes; while it refuses, it is asked each time."""
    store, clock = Refusing(tells=False), ManualClock()
    reporter = HealthReporter(tmp_path, store, clock, this_process(), "worker", 1.0, lambda: True, "here")
    for _ in range(3):
        reporter.ask()
    assert store.checked == 1
    clock.advance(TRIED_INTERVAL_S)
    store.error = AccessRefused("RPUSH")
    for _ in range(3):
        with pytest.raises(AccessRefused):
            reporter.ask()
    assert store.checked == 4


def test_a_beat_of_a_newer_release_is_read(tmp_path: Path) -> None:
    """Fields that this release does not know are left aside: during an upgrade both are on one host."""
    clock = SystemClock()
    reporter = HealthReporter(tmp_path, Refusing(), clock, this_process(), "worker", 1.0, lambda: True, "here")
    reporter.ask()
    reporter.write()
    [path] = tmp_path.glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"new": 1}), encoding="utf-8")
    assert read_health(tmp_path, clock, "here")[0].ready
