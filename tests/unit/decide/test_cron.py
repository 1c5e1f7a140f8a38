"""Expressions of cron: the grammar of Celery, the next time, and days on which clocks are set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from celery.schedules import crontab
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraphage.decide.cron import Cron, next_time_ms, read_cron
from neuraphage.decide.occurrences import next_of, occurrence, zone_of
from neuraphage.errors import BadInput
from neuraphage.model.schedule import ScheduleDefinition
from neuraphage.model.task import TaskSpec

VIENNA = ZoneInfo("Europe/Vienna")
UTC_ZONE = ZoneInfo("UTC")
RANGES = ((0, 59), (0, 23), (1, 28), (1, 12), (0, 6))


def part(low: int, high: int) -> st.SearchStrategy[str]:
    """One part of a field, as people write it."""
    number = st.integers(low, high)
    spans = st.tuples(number, number).map(lambda pair: f"{pair[0]}-{pair[1]}")
    steps = st.integers(1, 9)
    stepped = st.tuples(st.one_of(st.just("*"), spans), steps).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.one_of(st.just("*"), number.map(str), spans, stepped)


FIELDS = [st.lists(part(low, high), min_size=1, max_size=3).map(",".join) for low, high in RANGES]
EXPRESSIONS = st.tuples(*FIELDS).map(" ".join)


def ms(text: str, zone: ZoneInfo = UTC_ZONE, fold: int = 0) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp() * 1000)


def times(cron: str, zone: ZoneInfo, after: str, count: int) -> list[str]:
    """The next times, by UTC."""
    at_ms, found = ms(after), []
    for _ in range(count):
        at_ms = next_time_ms(read_cron(cron), zone, at_ms)
        found.append(datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%m-%d %H:%M"))
    return found


@given(EXPRESSIONS)
def test_it_reads_what_celery_reads(text: str) -> None:
    """The same values of each field."""
    ours, theirs = read_cron(text), crontab.from_string(text)
    assert (set(ours.minutes), set(ours.hours)) == (theirs.minute, theirs.hour)
    assert (ours.days, ours.months, ours.weekdays) == (
        theirs.day_of_month, theirs.month_of_year, theirs.day_of_week,
    )  # fmt: skip


@settings(max_examples=40)
@given(EXPRESSIONS, st.integers(1_500_000_000, 2_500_000_000))
def test_the_next_time_is_the_first_minute_that_fits(text: str, after_s: int) -> None:
    """Where no clock is set: it fits, and for a day before it nothing else does."""
    cron = read_cron(text)
    found = datetime.fromtimestamp(next_time_ms(cron, UTC_ZONE, after_s * 1000) / 1000, UTC)
    assert fits(cron, found)
    assert found.timestamp() > after_s
    earliest = max(datetime.fromtimestamp(after_s, UTC), found - timedelta(hours=30))
    before = earliest.replace(second=0, microsecond=0) + timedelta(minutes=1)
    while before < found:
        assert not fits(cron, before)
        before += timedelta(minutes=1)


def fits(cron: Cron, at: datetime) -> bool:
    return cron.fits(at.date()) and at.hour in cron.hours and at.minute in cron.minutes and at.second == 0


def test_names_of_months_and_days() -> None:
    """In any case, by their first letters."""
    assert read_cron("0 0 * jan-MAR Mon,fri") == read_cron("0 0 * 1-3 1,5")
    assert read_cron("0 0 * * Monday-friday") == read_cron("0  0 * * 1-5 ")


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "60 * * * *", "* 24 * * *", "0 0 0 * *", "0 0 * 13 *", "0 0 * * 7", "*/0 * * * *", "5/15 * * * *",
     "x * * * *", "mon * * * *", "1- * * * *", ",1 * * * *", "-1 * * * *", "@daily", "0 0 31 2 *", "1.5 * * * *"],
)  # fmt: skip
def test_what_is_none_is_refused_with_what_is_allowed(text: str) -> None:
    """So that a person can mend it."""
    with pytest.raises(BadInput, match=r"write five fields: minute \(0-59\)"):
        read_cron(text)


def test_clocks_that_leap_ahead() -> None:
    """On 2026-03-29 there is no 02:30 in Vienna: it is 03:30 then. What names every hour has no time in the gap."""
    assert times("30 2 * * *", VIENNA, "2026-03-28T00:00", 3) == ["03-28 01:30", "03-29 01:30", "03-30 00:30"]
    assert times("30 * * * *", VIENNA, "2026-03-28T23:00", 4) == [
        "03-28 23:30", "03-29 00:30", "03-29 01:30", "03-29 02:30",
    ]  # fmt: skip
    assert times("0,30 2,3 * * *", VIENNA, "2026-03-29T00:00", 3) == ["03-29 01:00", "03-29 01:30", "03-30 00:00"]


def test_clocks_that_go_back() -> None:
    """On 2026-10-25 02:30 comes twice in Vienna: the first counts. What names every hour goes on by real time."""
    assert times("30 2 * * *", VIENNA, "2026-10-24T12:00", 2) == ["10-25 00:30", "10-26 01:30"]
    assert times("30 * * * *", VIENNA, "2026-10-24T23:00", 4) == [
        "10-24 23:30", "10-25 00:30", "10-25 01:30", "10-25 02:30",
    ]  # fmt: skip


def test_a_leap_day_is_found_years_ahead() -> None:
    """Also where a century leaves one out."""
    assert times("0 0 29 2 *", UTC_ZONE, "2096-03-01T00:00", 1) == ["02-29 00:00"]
    assert next_time_ms(read_cron("0 0 29 2 *"), UTC_ZONE, ms("2096-03-01T00:00")) == ms("2104-02-29T00:00")
    assert next_time_ms(read_cron("0 0 29 2 fri"), UTC_ZONE, ms("2088-03-01T00:00")) == ms("2092-02-29T00:00")


def test_an_unknown_zone_is_refused() -> None:
    """Also one that is a path."""
    for name in ("Mars/Base", "../etc/passwd", ""):
        with pytest.raises(BadInput, match="knows no zone"):
            zone_of(name)


def test_a_time_has_one_task_whoever_makes_it() -> None:
    """Another time, another schedule of the same name or another namespace has another one; all are ordered by time."""
    spec = TaskSpec(task_id="task-00000000-0000-7000-8000-000000000000", name="n", prompt="p", model="m")
    one = ScheduleDefinition(name="a", cron="* * * * *", zone="UTC", spec=spec, created_at_ms=1)
    again = one.model_copy(update={"created_at_ms": 2})
    made = [occurrence("np", one, 60_000), occurrence("np", one, 120_000)]
    others = [occurrence("np", again, 60_000), occurrence("other", one, 60_000)]
    ids = [task.task_id for task in (*made, *others)]
    assert occurrence("np", one, 60_000) == made[0]
    assert (len(set(ids)), ids[0] < ids[1], made[0].tags) == (4, True, ("schedule:a",))
    assert next_of(one, 60_000) == 120_000
