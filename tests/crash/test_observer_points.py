"""A process that tells observers may die at any of its writes and calls: nothing is lost, nothing is tried for ever."""

from __future__ import annotations

import os
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from crash_cases import fork, wait_for_exit

from neuraphage.hooks import Observed, observer
from neuraphage.hooks.declaring import Hook
from neuraphage.hooks.observers import LoadedObservers
from neuraphage.model.task import TaskSpec
from neuraphage.ports import Signal, SignalKind
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.observing import Observing
from neuraphage.settings import Settings
from neuraphage.store.observers import RedisObservers
from neuraphage.store.tasks import RedisStore
from neuraphage.testing import Call, CrashInjector, CrashPoint, crash_points, recordable
from servers import ValkeyProcess

pytestmark = pytest.mark.real_redis
KINDS = ("TaskCreated", "TaskCancelled")
TASKS = 3
EVENTS = TASKS + 1
MAX_ATTEMPTS = 3
MOST_RUNS = 40
KILLED = -signal.SIGKILL


@dataclass(frozen=True)
class Site:
    """Where one case runs.

    Args:
        number: tells the cases apart.
        folder: the world outside.
        socket: of the state server.
    """

    number: int
    folder: Path
    socket: Path

    def store(self) -> RedisStore:
        """A connection of the calling process."""
        url = f"unix://{self.socket}"
        return RedisStore(Settings(namespace=f"observed-{self.number}", state_url=url), SystemClock())

    def told(self, name: str) -> list[list[str]]:
        """Event, `recovered`, try and whether it failed, of each call of an observer."""
        file = self.folder / name
        return [line.split() for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []

    @property
    def mended(self) -> Path:
        """What a broken observer lacks; a person has tried it again since this is there."""
        return self.folder / "mended"


def observers(site: Site) -> list[Hook]:
    """One that deals with all, one that fails once, and one that fails until it is mended."""

    def telling(name: str, fails: Callable[[Observed], bool]) -> Hook:
        def told(event: Observed) -> None:
            is_failure = event.event == "TaskCancelled" and fails(event)
            with (site.folder / name).open("a", encoding="utf-8") as file:
                file.write(f"{event.event_id} {event.recovered} {event.attempt} {is_failure}\n")
            if is_failure:
                raise OSError("the chat is away")

        return observer(*KINDS, name=name)(told)

    def once(event: Observed) -> bool:
        return all(row[0] != event.event_id for row in site.told("flaky"))

    return [
        telling("sound", lambda _: False),
        telling("flaky", once),
        telling("broken", lambda _: not site.mended.exists()),
    ]


def live(site: Site, injector: CrashInjector) -> None:
    """One process: tells what happens until all is dealt with, and plays the person who has a failure tried again."""
    store = site.store()
    known = RedisObservers(store.context)
    recorded = injector.observer_store(known)
    hooks = injector.observers(LoadedObservers(observers(site)))
    telling = Observing(recorded, hooks, SystemClock(), MAX_ATTEMPTS, 0)
    for number in range(MOST_RUNS):
        telling.run(f"{os.getpid()}-{number}")
        if len(known.places()) < len(hooks.observers):
            continue
        happen(store)
        end = known.events(None, frozenset()).after
        if any(place.after != end for place in known.places().values()):
            continue
        rows = known.put_by()
        if not rows and site.mended.exists():
            return
        if all(row.due_ms is None for row in rows):
            (row,) = rows
            assert (row.observer, row.kind, row.attempts) == ("broken", "TaskCancelled", MAX_ATTEMPTS)
            site.mended.touch()
            recorded.again(row)
    raise AssertionError(f"still at it after {MOST_RUNS} runs: {known.put_by()}")


def happen(store: RedisStore) -> None:
    """What is told: tasks are made, and one of them is cancelled. A repeat does nothing."""
    for number in range(TASKS):
        spec = TaskSpec(task_id=f"task-00000000-0000-7000-8000-{number:012x}", name="n", prompt="p", model="m")
        store.create(spec, f"create-{number}")
    store.signal(spec.task_id, Signal(SignalKind.CANCEL, "cancel"))


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(site: Site, point: CrashPoint | None) -> tuple[Call, ...]:
    """A case: one process is killed at the point, where there is one, and this one ends what it has begun."""
    site.folder.mkdir()
    if point is not None:
        code = wait_for_exit(fork(lambda: live(site, CrashInjector(point, killed))))
        assert code == KILLED, f"{point} was never reached: {code}"
        store = site.store()
        store.context.client.delete(store.context.keys.observing)  # its hold runs out
    injector = CrashInjector(None, killed)
    live(site, injector)
    return injector.calls


def faults(site: Site) -> list[str]:
    """What is not as it must be, whoever died when."""
    store = site.store()
    known = RedisObservers(store.context)
    order = [event.event_id or "" for event in known.events("0-0", frozenset(KINDS)).events]
    found = [f"{len(order)} events"] if len(order) != EVENTS else []
    found += [f"{row.name} is still put by" for row in known.put_by()]
    found += [f"{name} is in the midst of an event" for name, place in known.places().items() if place.begun in order]
    found += ["somebody still tells events"] if store.context.client.exists(store.context.keys.observing) else []
    for name in ("sound", "flaky", "broken"):
        rows = site.told(name)
        done = {event for event, _, _, failed in rows if failed == "False"}
        firsts = list(dict.fromkeys(row[0] for row in rows))
        found += [f"{name} was not told of {event}" for event in order if event not in done]
        found += [f"{name} was told out of order"] if firsts != order else []
        news = Counter(event for event, recovered, _, _ in rows if recovered == "False")
        found += [f"{name} was told {count} times as if it were new" for count in news.values() if count > 1]
        repeats = [row for number, row in enumerate(rows) if row[0] in [one[0] for one in rows[:number]]]
        found += [f"{name} was told again as if it were new" for row in repeats if row[1] == "False"]
        tries = sum(failed == "True" for _, _, _, failed in rows)
        found += [f"{name} was tried {tries} times"] if tries > MAX_ATTEMPTS else []
    return found


@pytest.fixture
def sites() -> Iterator[Callable[[], Site]]:
    """Makes the places of cases, on one real server."""
    with tempfile.TemporaryDirectory(prefix="np-") as name, ValkeyProcess(Path(name)) as valkey:
        numbers = iter(range(10_000))

        def site() -> Site:
            number = next(numbers)
            return Site(number, Path(name) / f"case-{number}", valkey.socket)

        yield site


def test_a_kill_at_each_write_and_each_call(sites: Callable[[], Site], announce: Callable[[str], None]) -> None:
    """Each event is dealt with by each observer, in order, a repeat is told as one, tries are bounded, and what was put
    by is told again when a person asks; one kill costs one call more at most."""
    reference = sites()
    calls = run(reference, None)
    assert faults(reference) == []
    assert {call.name for call in calls} == {one for one in recordable() if one.startswith("Observe")}
    told = sum(len(reference.told(name)) for name in ("sound", "flaky", "broken"))
    assert told == 3 * EVENTS + 1 + MAX_ATTEMPTS
    failed = {}
    points = crash_points(calls)
    for point in points:
        site = sites()
        run(site, point)
        more = sum(len(site.told(name)) for name in ("sound", "flaky", "broken")) - told
        found = faults(site) + ([f"{more} calls more"] if more > 1 else [])
        if found:
            failed[str(point)] = found
    announce(f"{len(points)} crash points of observers, {len(failed)} failed")
    assert not failed, failed
