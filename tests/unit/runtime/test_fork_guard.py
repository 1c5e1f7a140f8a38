"""A forked child finds no lock held by a thread that it does not have."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from neuraphage.runtime.election import HostElection
from neuraphage.runtime.fork_guard import GUARD, ForkGuard
from neuraphage.runtime.health import HealthReporter
from neuraphage.runtime.watcher import Watcher
from neuraphage.setting_values import RecoveryPolicy
from patience import PATIENCE_S

LIMIT_S = PATIENCE_S


def working(guard: ForkGuard, lock: threading.Lock, may_end: threading.Event) -> threading.Thread:
    """A thread that holds a lock while it works under the guard, until it may end."""
    holds = threading.Event()

    def work() -> None:
        with guard.at_work(), lock:
            holds.set()
            may_end.wait(LIMIT_S)

    thread = threading.Thread(target=work)
    thread.start()
    assert holds.wait(LIMIT_S)
    return thread


def let_end_once_forking(guard: ForkGuard, may_end: threading.Event) -> None:
    """Let the work end as soon as a fork waits for it."""
    while not guard._forking:
        time.sleep(0.001)
    may_end.set()


def test_a_child_can_take_a_lock_that_was_held_when_its_fork_began() -> None:
    """As the lock of a module that the watcher imports while its process forks a child."""
    lock, may_end = threading.Lock(), threading.Event()
    worker = working(GUARD, lock, may_end)
    helper = threading.Thread(target=let_end_once_forking, args=(GUARD, may_end))
    helper.start()
    pid = os.fork()
    if pid == 0:
        free = lock.acquire(timeout=1.0) and GUARD._working == 0
        os._exit(0 if free else 1)
    _, status = os.waitpid(pid, 0)
    worker.join(LIMIT_S)
    helper.join(LIMIT_S)
    assert os.waitstatus_to_exitcode(status) == 0


def test_work_begins_after_a_fork_that_is_under_way() -> None:
    """Else a thread could take a lock between the wait and the fork itself."""
    guard, began = ForkGuard(), threading.Event()

    def work() -> None:
        with guard.at_work():
            began.set()

    guard.before_fork()
    thread = threading.Thread(target=work)
    thread.start()
    assert not began.wait(0.05)
    guard.after_fork_in_parent()
    assert began.wait(LIMIT_S)
    thread.join(LIMIT_S)


def test_a_fork_does_not_wait_for_ever() -> None:
    """A thread that waits for a server which is away must not hold up a worker's children."""
    guard, may_end = ForkGuard(wait_s=0.01), threading.Event()
    worker = working(guard, threading.Lock(), may_end)
    guard.before_fork()  # comes back while the thread still works
    assert guard._working == 1
    guard.after_fork_in_parent()
    may_end.set()
    worker.join(LIMIT_S)


def test_the_watcher_looks_under_the_guard(tmp_path: Path, monkeypatch: Any) -> None:
    """Its first recovery loads scripts, and so modules, while its process forks."""
    seen = threading.Event()
    settings = SimpleNamespace(recovery_policy=RecoveryPolicy.AUTO, watcher_interval_s=0.01)
    anything: Any = None
    watcher = Watcher(anything, anything, anything, settings, "here", HostElection(tmp_path, "here"))  # type: ignore[arg-type]

    def look_here() -> int:
        if GUARD._working:
            seen.set()
        return 0

    monkeypatch.setattr(watcher, "look_here", look_here)
    monkeypatch.setattr(watcher, "_watch", lambda watching: None)
    watcher.start()
    assert seen.wait(LIMIT_S)
    watcher.stop()


def test_health_reporters_under_the_guard(monkeypatch: Any) -> None:
    """Both of its threads."""
    seen: set[str] = set()
    both = threading.Event()
    reporter = object.__new__(HealthReporter)
    reporter._stop, reporter._record = threading.Event(), SimpleNamespace(period_s=0.002)  # type: ignore[assignment]

    def note(name: str) -> None:
        if GUARD._working:
            seen.add(name)
        if len(seen) == 2:
            both.set()

    monkeypatch.setattr(reporter, "write", lambda: note("write"))
    monkeypatch.setattr(reporter, "ask", lambda: note("ask"))
    threads = [threading.Thread(target=run) for run in (reporter._write_all, reporter._ask_all)]
    for thread in threads:
        thread.start()
    assert both.wait(LIMIT_S)
    reporter._stop.set()
    for thread in threads:
        thread.join(LIMIT_S)
