"""When a task is to begin: zones, and days on which the clocks change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from neuraphage.api.start_time import read_start, start_ms
from neuraphage.errors import BadInput


@pytest.fixture(autouse=True)
def _vienna(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A zone whose clocks leap ahead on 2026-03-29 at 02:00 and go back on 2026-10-25 at 03:00."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


def utc(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def test_a_time_without_an_offset_is_of_this_zone() -> None:
    """In winter and in summer; one with an offset is what it says."""
    assert start_ms(read_start("2026-12-24T09:00")) == utc("2026-12-24T08:00")
    assert start_ms(read_start(" 2026-07-01 09:00:30 ")) == utc("2026-07-01T07:00:30")
    assert start_ms(read_start("2026-12-24T09:00Z")) == utc("2026-12-24T09:00")
    assert start_ms(datetime(2026, 12, 24, 9, tzinfo=timezone(timedelta(hours=-5)))) == utc("2026-12-24T14:00")
    assert start_ms(None) is None


def test_a_time_that_comes_twice_is_the_first_of_both() -> None:
    """An offset names the other one."""
    assert start_ms(read_start("2026-10-25T02:30")) == utc("2026-10-25T00:30")
    assert start_ms(read_start("2026-10-25T02:30+01:00")) == utc("2026-10-25T01:30")


def test_a_time_that_never_comes_is_refused() -> None:
    """The clocks leap over it; with an offset it is a time as any."""
    with pytest.raises(BadInput, match="never show 2026-03-29 02:30"):
        start_ms(read_start("2026-03-29T02:30"))
    assert start_ms(read_start("2026-03-29T02:30+01:00")) == utc("2026-03-29T01:30")


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-13-01T00:00", "09:00", "10"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """It says how one is written."""
    with pytest.raises(BadInput, match="2026-12-24T09:00"):
        read_start(text)


def test_a_time_beyond_all_clocks_is_refused() -> None:
    """No traceback."""
    with pytest.raises(BadInput, match="no time that a task can begin at"):
        start_ms(
            datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-12))).replace(tzinfo=None) + timedelta()
        )
