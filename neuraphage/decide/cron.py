"""Expressions of cron: which minutes they name, and when the next one comes. Pure.

The grammar is that of `celery.schedules.crontab`, and a test holds both against each other: minute, hour, day of the
month, month, day of the week; all five must fit. Nothing of Celery is imported, so that no command waits for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock
from functools import lru_cache
from zoneinfo import ZoneInfo

from neuraphage.errors import BadInput

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of the month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
    ("day of the week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
ALLOWED = (
    "write five fields: minute (0-59), hour (0-23), day of the month (1-31), month (1-12 or jan-dec), day of the week"
    " (0-6 or sun-sat); each is *, a number, a range 1-5, a step */15 or 8-18/2, or a list of those with commas; as"
    ' "*/15 8-18 * * mon-fri"'
)
_PART = re.compile(r"(?:(?P<all>\*)|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>\d+))?")
MOST_DAYS = 41 * 366
"""How far ahead a time is looked for: 29 February as a given day of the week may be forty years away."""
_DAY, _HOUR = timedelta(days=1), timedelta(hours=1)
_MOST_LEAP = timedelta(hours=3)
"""More than clocks are set by at once; days that a country has left out are taken as they come."""


@dataclass(frozen=True, slots=True)
class Cron:
    """What an expression names: the values of each field."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    @property
    def is_each_hour(self) -> bool:
        """Whether it names a minute of every hour: then it goes by real time where clocks are set."""
        return len(self.hours) == 24

    def fits(self, day: date) -> bool:
        """Whether it names a time of this day."""
        return day.day in self.days and day.month in self.months and day.isoweekday() % 7 in self.weekdays


@lru_cache(maxsize=256)
def read_cron(expression: str) -> Cron:
    """What an expression names.

    Raises:
        BadInput: it is none, or no day fits; the message says what is allowed.
    """
    texts = expression.split()
    if len(texts) != len(_FIELDS):
        raise BadInput(f"the schedule {expression!r} has {len(texts)} fields; {ALLOWED}")
    found = [_field(text, *field) for text, field in zip(texts, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = found
    cron = Cron(tuple(sorted(minutes)), tuple(sorted(hours)), frozenset(days), frozenset(months), frozenset(weekdays))
    start = date(2024, 1, 1)
    if not any(cron.fits(start + number * _DAY) for number in range(MOST_DAYS)):
        raise BadInput(f"the schedule {expression!r} names no day that there is; {ALLOWED}")
    return cron


def _field(text: str, name: str, low: int, high: int, names: dict[str, int]) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        step = int(match["step"] or 1) if match else 0
        is_stepped_number = match is not None and match["step"] and match["first"] and not match["last"]
        if match is None or step == 0 or is_stepped_number:
            raise BadInput(f"the {name} of the schedule, {text!r}, is none; {ALLOWED}")
        values = list(range(low, high + 1))
        if match["first"]:
            first = _number(match["first"], name, low, high, names)
            last = first if match["last"] is None else _number(match["last"], name, low, high, names)
            ahead = list(range(first, last + 1))
            values = ahead if last >= first else [*range(first, high + 1), *range(low, last + 1)]
        found.update(values[::step])
    return found


def _number(text: str, name: str, low: int, high: int, names: dict[str, int]) -> int:
    value = names.get(text[:3].lower()) if not text.isdecimal() else int(text)
    if value is None or not low <= value <= high:
        raise BadInput(f"the {name} of the schedule has {text!r}; {ALLOWED}")
    return value


def next_time_ms(cron: Cron, zone: ZoneInfo, after_ms: int) -> int:
    """The first time that comes after another one, in milliseconds since 1970.

    Where the clocks of the zone leap ahead, a time that never comes is taken as if they had not leapt: 02:30 is then
    03:30. Where they go back, a time that comes twice is the first of both. An expression that names every hour goes by
    real time: it has no time in the gap, and both of those that come twice.

    Raises:
        BadInput: none comes within forty years.
    """
    earliest = datetime.fromtimestamp(after_ms / 1000, zone).replace(tzinfo=None) - _MOST_LEAP
    for number in range(MOST_DAYS):
        day = earliest.date() + number * _DAY
        if cron.fits(day) and (found := _first_ms(cron, zone, day, earliest, after_ms)) is not None:
            return found
    raise BadInput("the schedule names no time of the next forty years")


def _first_ms(cron: Cron, zone: ZoneInfo, day: date, earliest: datetime, after_ms: int) -> int | None:
    """The first time of a day after another one; of hours that may hold it, since a conversion takes its time."""
    found: list[int] = []
    last_hour = 24
    for hour in cron.hours:
        shown = datetime.combine(day, clock(hour))
        if shown + _HOUR <= earliest or hour > last_hour:
            continue
        found += [at_ms for at_ms in _times_ms(cron, zone, day, hour) if at_ms > after_ms]
        if found:
            last_hour = min(last_hour, hour + _MOST_LEAP // _HOUR)
    return min(found, default=None)


def _times_ms(cron: Cron, zone: ZoneInfo, day: date, hour: int) -> Iterator[int]:
    """Every time of an hour that the clocks show."""
    for minute in cron.minutes:
        at = (day.year, day.month, day.day, hour, minute)
        first, second = (_instant_ms(datetime(*at, tzinfo=zone, fold=fold)) for fold in (0, 1))
        if first == second or not cron.is_each_hour:
            yield first
        elif first < second:  # it comes twice; the other way round, never
            yield from (first, second)


def _instant_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
