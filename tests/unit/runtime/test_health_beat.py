"""The threads of a health beat: a failure of any kind costs one beat, never the thread."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.health import HealthBeat, read_health
from neuraphage.runtime.host import this_process
from turnkit import until


class Failing:
    """ports.health.HealthStore, and who asks whether messages are taken in: each fails once by a bug."""

    def __init__(self) -> None:
        self.asked, self.looked = 0, 0

    def touch_health(self, name: str, ttl_ms: int) -> None:
        self.asked += 1
        if self.asked == 1:
            raise ValueError("a reply that nobody foresaw")

    def consuming(self) -> bool:
        self.looked += 1
        if self.looked == 2:  # the first look is that of the start, which may fail
            raise RuntimeError("a consumer that is being taken down")
        return True


def test_both_threads_outlive_a_bug(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The process is live and ready at the next beat, and the log says what was wrong."""
    failing, clock = Failing(), SystemClock()
    beat = HealthBeat(tmp_path, failing, clock, this_process(), "worker", 0.1, failing.consuming, "here")
    with caplog.at_level(logging.ERROR):
        beat.start()
        until(lambda: failing.asked > 1 and failing.looked > 2 and read_health(tmp_path, clock, "here")[0].ready)
        beat.stop()
    assert "nobody foresaw" in caplog.text
    assert "taken down" in caplog.text
