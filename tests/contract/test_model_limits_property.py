"""Limits of models, played over hours of many workers on the real server by a clock of the test.

Calls reach the provider late, take longer than a window, are killed before and after they were sent, and use more or
less than was expected. The provider counts: no window ever holds more than the limits, little of them is left unused,
and nobody waits for ever.
"""

from __future__ import annotations

import heapq
import json
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuraphage.model.capacity import CallShare, ModelLimits
from neuraphage.store import scripts
from neuraphage.store.capacity import HEAD_START_MS
from storekit import StoreKit

pytestmark = pytest.mark.real_redis

GATE = "pool:family"
WINDOW_MS = 60_000
START_MS = 1_700_000_000_000
INPUT_TOKENS = 100
CLOCK = "clock-of-the-test"


@pytest.fixture(autouse=True)
def _clock_of_the_test() -> Iterator[None]:
    """The scripts read the time where the test has put it."""
    read = scripts._read
    clock = f"cjson.decode(redis.call('GET', '{CLOCK}'))"
    scripts._read = lambda name: read(name).replace("redis.call('TIME')", clock)
    scripts.script.cache_clear()
    yield
    scripts._read = read
    scripts.script.cache_clear()


@dataclass
class Provider:
    """Counts what reaches it, as a sliding window.

    Args:
        limits: what it enforces; nobody is refused, excesses are counted.
    """

    limits: ModelLimits
    seen: dict[str, deque[tuple[int, int]]] = field(default_factory=dict)
    requests: int = 0
    excesses: list[str] = field(default_factory=list)

    def take(self, kind: str, amount: int, at_ms: int) -> None:
        seen = self.seen.setdefault(kind, deque())
        seen.append((at_ms, amount))
        self.requests += kind == "requests"
        while seen[0][0] <= at_ms - WINDOW_MS:
            seen.popleft()
        found, most = sum(counted for _, counted in seen), getattr(self.limits, kind)
        if most is not None and found > most:
            self.excesses.append(f"{found} {kind} at {at_ms}")


@dataclass
class Fleet:
    """Tasks that call a model again and again, and the workers that die under them.

    Args:
        kit: the store.
        rng: of this run.
        limits: as set.
        longest_reply_ms: of a call.
        deaths: how many of a hundred calls meet one.
    """

    kit: StoreKit
    rng: random.Random
    limits: ModelLimits
    longest_reply_ms: int
    deaths: int

    def __post_init__(self) -> None:
        self.provider = Provider(self.limits)
        self.now_ms = START_MS
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()
        self.calls: dict[str, int] = {}
        self.waits_ms: list[int] = []
        self._since: dict[str, int] = {}
        self._waiting: dict[str, tuple[int, int, int]] = {}

    def at(self, at_ms: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (int(at_ms), next(self._numbers), act))

    def run(self, until_ms: int) -> None:
        while self._events and self._events[0][0] <= until_ms:
            self.now_ms, _, act = heapq.heappop(self._events)
            self.kit.client.set(CLOCK, json.dumps([self.now_ms // 1000, self.now_ms % 1000 * 1000]))
            act()

    def ask(self, task: str, priority: int, number: int, attempt: int) -> None:
        share = CallShare(
            ticket=f"0.{number}.{attempt}", input_tokens=INPUT_TOKENS, output_tokens=self.limits.output_tokens or 0
        )
        self._since.setdefault(task, self.now_ms)
        found = self.kit.store.admit_call(GATE, task, priority=priority, limits=self.limits, share=share)
        if not found.is_admitted:
            assert self.now_ms < found.due_ms <= self.now_ms + WINDOW_MS + 1
            self.kit.client.zadd(self.kit.keys.timers, {task: found.due_ms})
            self._waiting[task] = (priority, number, attempt)
            self.at(found.due_ms + self.rng.randrange(200), lambda: self.fired(task))
            return
        self.waits_ms.append(self.now_ms - self._since.pop(task))
        fate, read = self.rng.randrange(100), self.rng.randrange(10, INPUT_TOKENS)
        if fate < self.deaths / 3:  # killed before the call was announced: the recovered turn has its share still
            self.at(self.now_ms + self.rng.randrange(3_000), lambda: self.ask(task, priority, number, attempt))
            return
        arrival_ms = self.now_ms + self.rng.randrange(1_500)
        if fate >= self.deaths / 2:  # else killed between the announcement and the sending
            self.at(arrival_ms, lambda: self.arrived(read))
        if fate < self.deaths:
            self.at(arrival_ms + self.rng.randrange(3_000), lambda: self.ask(task, priority, number, attempt + 1))
            return
        over_ms = arrival_ms + self.rng.randrange(1, self.longest_reply_ms)
        self.at(over_ms, lambda: self.over(task, priority, number, attempt, (arrival_ms, read)))

    def fired(self, task: str) -> None:
        """Its timer is due; or it was woken before, and has asked since."""
        due_ms = self.kit.client.zscore(self.kit.keys.timers, task)
        if due_ms is not None and due_ms <= self.now_ms:
            self.kit.client.zrem(self.kit.keys.timers, task)
            self.ask(task, *self._waiting.pop(task))

    def arrived(self, read: int) -> None:
        self.provider.take("requests", 1, self.now_ms)
        self.provider.take("input_tokens", read, self.now_ms)

    def over(self, task: str, priority: int, number: int, attempt: int, begun: tuple[int, int]) -> None:
        arrival_ms, read = begun
        wrote = self.rng.randrange(1, max(2, (self.limits.output_tokens or 0) // 4))
        self.provider.take("output_tokens", wrote, self.now_ms)
        used = CallShare(ticket=f"0.{number}.{attempt}", input_tokens=read, output_tokens=wrote)
        answered_ms = (self.now_ms - arrival_ms) * self.rng.randrange(50, 101) // 100
        self.kit.store.settle_call(GATE, task, self.limits, used, answered_ms)
        self.calls[task] = self.calls.get(task, 0) + 1
        for woken in self.kit.client.zrangebyscore(self.kit.keys.timers, 0, self.now_ms):
            self.at(self.now_ms + self.rng.randrange(200), partial(self.fired, woken.decode()))
        self.at(self.now_ms + self.rng.randrange(500), lambda: self.ask(task, priority, number + 1, 1))


def played(
    kit: StoreKit, seed: int, limits: ModelLimits, tasks: int, minutes: int, longest_reply_ms: int, deaths: int
) -> Fleet:
    kit.client.flushall()
    fleet = Fleet(kit, random.Random(seed), limits, longest_reply_ms, deaths)
    for number in range(tasks):
        name, priority = f"task-{number}", number % 5
        fleet.at(START_MS + number, partial(fleet.ask, name, priority, 0, 1))
    fleet.run(START_MS + minutes * WINDOW_MS)
    kit.client.flushall()
    return fleet


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32), most=st.integers(1, 12), longest_ms=st.sampled_from((500, 20_000, 150_000)),
    deaths=st.sampled_from((0, 10, 40)),
    tokens=st.sampled_from(({}, {"input_tokens": 3 * INPUT_TOKENS}, {"output_tokens": 100})),
)  # fmt: skip
def test_no_window_ever_holds_more(
    real_kit: StoreKit, seed: int, most: int, longest_ms: int, deaths: int, tokens: dict[str, int]
) -> None:
    """As the provider counts, whatever dies and however late calls reach it."""
    limits = ModelLimits(requests=most, **tokens)
    fleet = played(real_kit, seed, limits, tasks=3 * most, minutes=12, longest_reply_ms=longest_ms, deaths=deaths)
    assert fleet.provider.excesses == []
    assert fleet.provider.requests > 0


@pytest.mark.parametrize("deaths", [0, 10])
def test_what_is_allowed_is_used(real_kit: StoreKit, deaths: int) -> None:
    """More than nine of ten calls that the limit allows are made while enough tasks want to, in spite of the deaths."""
    minutes = 30
    fleet = played(
        real_kit, 7, ModelLimits(requests=10), tasks=25, minutes=minutes, longest_reply_ms=15_000, deaths=deaths
    )
    assert fleet.provider.excesses == []
    assert fleet.provider.requests >= 0.9 * 10 * minutes


def test_nobody_starves(real_kit: StoreKit) -> None:
    """Each of the tasks gets its calls, those of the lowest priority too; urgent ones get at least as many."""
    fleet = played(real_kit, 11, ModelLimits(requests=5), tasks=20, minutes=40, longest_reply_ms=2_000, deaths=5)
    assert len(fleet.calls) == 20
    by_priority = [sum(fleet.calls[f"task-{n}"] for n in range(20) if n % 5 == priority) for priority in range(5)]
    assert min(fleet.calls.values()) >= 4
    assert by_priority[0] >= by_priority[4]
    fair_ms = 20 / 5 * WINDOW_MS
    assert max(fleet.waits_ms) <= 2 * fair_ms + 4 * HEAD_START_MS
