"""A worker whose interpreter is held by one call: who renews its leases, and when nobody does."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from neuraphage.ports import HeldRow
from neuraphage.runtime.host import identify, process_gone
from neuraphage.standby import StandbyProcess
from neuraphage.standby.shared_layout import HEADER, SHARED_BYTES, rows_of
from storekit import StoreKit
from stuckkit import StuckWorker, all_wait
from turnkit import until

pytestmark = pytest.mark.real_redis
Start = Callable[..., StuckWorker]
LONG_S = 600
RSS_LIMIT = 15 * 1024 * 1024


def test_leases_are_renewed_while_the_interpreter_is_held(start_worker: Start) -> None:
    """One call of several leases: it ends in time, and the worker still holds its task."""
    worker = start_worker()
    task_id = worker.hold()
    worker.tell("stick 5")
    for _ in range(12):
        assert not worker.is_over(task_id)
        worker.is_renewed(task_id, times=1)
    assert worker.answer() == "free"
    assert worker.ask("held") == "True"


def test_a_claim_whose_answer_nobody_could_read_is_renewed_too(start_worker: Start) -> None:
    """Another thread may take the interpreter between a claim and its answer."""
    worker = start_worker()
    task_id = worker.hold("claim")
    worker.tell(f"stick {LONG_S}")
    worker.is_renewed(task_id)


def test_a_lease_that_another_has_taken_is_not_touched(start_worker: Start, stuck_kit: StoreKit) -> None:
    """Fence and claim decide there as everywhere; the worker is told when it wakes up."""
    worker = start_worker()
    task_id = worker.hold()
    worker.tell("stick 3")
    worker.is_renewed(task_id, times=2)
    stuck_kit.recover(task_id)
    seq = stuck_kit.store.get(task_id).seq
    taken = stuck_kit.store.claim(task_id, seq, "p2", "c2")
    expiry_ms = worker.expiry_ms(task_id)
    assert worker.answer() == "free"
    assert worker.expiry_ms(task_id) == expiry_ms
    assert worker.ask("held") == "False"
    assert taken.lease is not None


def test_a_worker_that_is_stopped_is_not_stood_in_for(start_worker: Start) -> None:
    """SIGSTOP: its lease runs out, so that another worker goes on; after SIGCONT it is renewed again."""
    worker = start_worker()
    task_id = worker.hold()
    os.kill(worker.process.pid, signal.SIGSTOP)
    until(lambda: worker.is_over(task_id))
    time.sleep(0.5)  # nothing may happen: there is no condition to wait for
    assert worker.is_over(task_id)
    os.kill(worker.process.pid, signal.SIGCONT)
    worker.is_renewed(task_id)


@pytest.mark.skipif(sys.platform != "linux", reason="what its threads do is read from /proc")
@pytest.mark.parametrize("leaks", [False, True])
def test_it_ends_with_its_worker(start_worker: Start, leaks: bool) -> None:
    """kill -9; also when a child of the worker has inherited its end of the pipe. No look of its own is due for a day:
    what ends it is told by the kernel."""
    worker = start_worker(heartbeat_s=400_000, lease_s=2_000_000)
    worker.hold()
    child = int(worker.ask("leak")) if leaks else 0
    beside = identify(worker.beside)
    worker.tell(f"stick {LONG_S}")
    all_wait(beside.pid, threads=2)  # one for its next look, the other for the end of its worker
    worker.kill()
    try:
        until(lambda: process_gone(beside))
    finally:
        if child:
            os.kill(child, signal.SIGKILL)


def test_it_ends_when_the_worker_leaves_and_outlives_what_ends_services(start_worker: Start) -> None:
    """A service manager signals every process of the service, while the worker may drain for minutes."""
    worker = start_worker()
    task_id = worker.hold()
    beside = identify(worker.beside)
    os.kill(beside.pid, signal.SIGTERM)
    worker.tell("stick 2")
    worker.is_renewed(task_id)
    assert worker.answer() == "free"
    assert worker.ask("leave") == "left"
    assert process_gone(beside)


def test_one_that_was_killed_is_replaced(start_worker: Start) -> None:
    """By the worker, some seconds later."""
    worker = start_worker()
    task_id = worker.hold()
    os.kill(worker.beside, signal.SIGKILL)
    successor = int(worker.ask(f"beside {worker.beside}"))
    assert successor != worker.beside
    worker.beside = successor
    worker.tell(f"stick {LONG_S}")
    worker.is_renewed(task_id)


def test_past_the_longest_effect_the_stuck_worker_is_ended(start_worker: Start) -> None:
    """Its lease would be kept for ever, and no thread of it can give it up: a death, which counts as one."""
    worker = start_worker(effect_max_s=2, read_timeout_s=1, call_timeout_s=1, connect_timeout_s=1)
    worker.hold("effect")
    worker.tell(f"stick {LONG_S}")
    assert worker.process.wait(120) == -signal.SIGKILL


def test_a_stop_of_hours_is_no_hung_effect(start_worker: Start) -> None:
    """A worker that wakes up after it was stopped for longer than the longest effect is not killed for that."""
    worker = start_worker(effect_max_s=2, read_timeout_s=1, call_timeout_s=1, connect_timeout_s=1)
    worker.hold()
    os.kill(worker.process.pid, signal.SIGSTOP)
    time.sleep(3)  # the stop itself
    os.kill(worker.process.pid, signal.SIGCONT)
    assert worker.ask("held") in ("True", "False")
    time.sleep(1)  # several looks
    assert worker.process.poll() is None


def test_it_is_small_and_imports_nothing_from_the_current_folder(start_worker: Start, tmp_path: Path) -> None:
    """Under 15 MB also while it stands in; files there that are called as what it imports are left alone."""
    for name in ("socket", "marshal", "mmap", "select", "struct", "plain_server", "shared_layout", "contextlib"):
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r})\n", encoding="utf-8"
        )
    worker = start_worker()
    task_id = worker.hold()
    worker.tell(f"stick {LONG_S}")
    worker.is_renewed(task_id)
    memory = psutil.Process(worker.beside).memory_full_info()
    print(f"rss {memory.rss / 2**20:.1f} MB, pss {memory.pss / 2**20:.1f} MB")
    assert memory.rss < RSS_LIMIT
    assert not (tmp_path / "imported").exists()


# --- the process as its worker starts it ---


@pytest.fixture
def standby() -> Iterator[StandbyProcess]:
    """One that has not begun; its order is longer than a pipe holds."""
    made = StandbyProcess({"heartbeat_s": 0.2, "effect_max_s": 600.0, "script": "x" * 1_000_000}, pulse_s=0.01)
    yield made
    made.stop()


def test_it_is_told_of_each_claim(standby: StandbyProcess) -> None:
    """What its worker holds stands in the memory that both see, and what it let go does not."""
    with mmap.mmap(standby._shared.descriptor, SHARED_BYTES, prot=mmap.PROT_READ) as shown:
        for claim in ("one", "two"):
            standby.hold(HeldRow(f"task-{claim}", 7, claim))
        standby.hold(HeldRow("task-two", 7, "two", 1.5))
        assert rows_of(shown) == [["task-one", "7", "one", ""], ["task-two", "7", "two", "1.5"]]
        standby.let_go("one")
        standby.let_go("never held")
        assert [row[2] for row in rows_of(shown)] == ["two"]
        standby.renewed(12.5)
        assert HEADER.unpack_from(shown)[1] == 12.5


def test_it_leaves_by_itself_and_nothing_starts_another(standby: StandbyProcess) -> None:
    """Its pipe is closed, which it takes for the end of its worker; the thread that would start it again is over."""
    standby.start()
    child = standby._child
    assert child is not None
    standby.stop()
    assert child.returncode == 0
    assert not standby._thread.is_alive()


def test_one_that_does_not_leave_is_killed(standby: StandbyProcess) -> None:
    """A worker that ends waits a moment for it, and then no longer."""
    standby.start()
    assert standby.pid is not None
    beside = identify(standby.pid)
    os.kill(beside.pid, signal.SIGSTOP)
    standby.stop()
    assert process_gone(beside)
    assert standby.pid is None
    standby.stop()


def test_a_machine_without_room_for_it_is_asked_again(
    standby: StandbyProcess, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The worker begins without it and says what that costs."""

    def refuses(*_: object, **__: object) -> None:
        raise OSError("no memory")

    monkeypatch.setattr("neuraphage.standby.standby._AGAIN_S", 0.05)
    with monkeypatch.context() as refusing:
        refusing.setattr(subprocess, "Popen", refuses)
        standby.start()
        assert standby.pid is None
        assert "no process beside this one (no memory)" in caplog.text
        until(lambda: caplog.text.count("no memory") > 1)
    until(lambda: standby.pid is not None)


def test_one_that_ends_at_once_is_not_started_at_once(
    standby: StandbyProcess, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """It ends before it has read its order: the worker goes on, and does nothing else but to start it."""
    (tmp_path / "ends.py").touch()
    monkeypatch.setattr("neuraphage.standby.standby._PROGRAM", str(tmp_path / "ends.py"))
    standby.start()
    until(lambda: standby.pid is None)
    shown = set()
    until(lambda: shown.add(standby._shared._pulse_s) or len(shown) > 10)  # type: ignore[func-returns-value]  # collects
    assert caplog.records == []


def test_who_never_began_can_be_stopped(standby: StandbyProcess) -> None:
    """A worker may end before it has begun."""
    standby.stop()
    assert standby.pid is None
