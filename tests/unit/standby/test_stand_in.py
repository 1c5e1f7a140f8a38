"""When the process beside a worker renews, when it keeps still and when it ends the worker, by a clock that is set."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from neuraphage.ports import HeldRow
from neuraphage.standby.shared_layout import BODY, BODY_AT, SHARED_BYTES, rows_of
from neuraphage.standby.shared_leases import SharedLeases
from standbykit import BEAT_S, LATE_S, LONGEST_S, WORKER, Beside, claim_of
from turnkit import until


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Beside]:
    """A worker that is well and holds one task, since a while."""
    made = Beside(monkeypatch)
    made.hold("one")
    made.pass_(2 * BEAT_S)
    yield made
    made.shared.close()


def sticks(beside: Beside) -> None:
    """One call holds the interpreter of the worker from now on."""
    beside.runs = beside.renews = False


def test_a_worker_that_renews_is_left_alone(beside: Beside) -> None:
    """The server is not even connected to: there is one such process for each worker."""
    beside.pass_(100 * BEAT_S)
    assert (beside.asked, beside.killed) == (0, [])


@pytest.mark.parametrize("runs", [True, False], ids=["only its heartbeat hangs", "its interpreter is held"])
def test_a_late_renewal_is_made_instead(beside: Beside, runs: bool) -> None:
    """At the first look at which it is late, and as often as that; no lease misses two heartbeats."""
    beside.runs, beside.renews = runs, False
    since_s = beside.boot_s
    beside.pass_(10 * BEAT_S)
    assert beside.renewed["one"] == [since_s + LATE_S * number for number in range(1, 9)]


def test_a_worker_that_is_back_is_left_alone_again(beside: Beside) -> None:
    """And the connection to the server is given back."""
    sticks(beside)
    beside.pass_(3 * BEAT_S)
    assert beside.connected
    beside.runs = beside.renews = True
    before = beside.times("one")
    beside.pass_(10 * BEAT_S)
    assert (beside.times("one"), beside.connected) == (before, False)


def test_who_renews_is_well(beside: Beside) -> None:
    """Whatever has become of the thread that shows that the interpreter runs."""
    beside.runs = False
    beside.pass_(2 * LONGEST_S)
    assert (beside.asked, beside.killed) == (0, [])


def test_who_holds_nothing_costs_the_server_nothing(beside: Beside) -> None:
    """Idle workers may be stuck, too: with them their process only looks."""
    beside.hold()
    sticks(beside)
    beside.pass_(10 * BEAT_S)
    assert beside.asked == 0


def test_a_worker_that_is_stopped_is_not_stood_in_for(beside: Beside) -> None:
    """However long: it is not killed for it either. What is stuck when it goes on is stuck since then."""
    sticks(beside)
    beside.stopped = True
    beside.pass_(2 * LONGEST_S)
    assert (beside.asked, beside.killed) == (0, [])
    beside.stopped = False
    beside.pass_(LONGEST_S - BEAT_S)
    assert beside.times("one") >= (LONGEST_S - BEAT_S) / LATE_S - 1
    assert beside.killed == []
    beside.pass_(2 * BEAT_S)
    assert beside.killed


def test_a_machine_that_stood_still_is_no_stuck_worker(beside: Beside) -> None:
    """Both stood still: what was held is renewed as soon as anything runs, and the worker is not killed."""
    sticks(beside)
    beside.pass_(2 * BEAT_S)
    before = beside.times("one")
    beside.freeze(2 * LONGEST_S)
    beside.pass_(BEAT_S / 4)
    assert beside.times("one") == before + 1
    beside.pass_(LONGEST_S / 2)
    assert beside.killed == []


@pytest.mark.parametrize("works", [True, False], ids=["in an effect", "in between"])
def test_a_worker_that_is_stuck_for_too_long_is_killed(
    beside: Beside, capsys: pytest.CaptureFixture[str], works: bool
) -> None:
    """Past the longest effect, not before; the log of the worker says why."""
    beside.hold("one", since_s=beside.boot_s if works else None)
    sticks(beside)
    since_s = beside.awake_s
    beside.pass_(2 * LONGEST_S)
    (killed_s,) = beside.killed
    assert since_s + LONGEST_S <= killed_s <= since_s + LONGEST_S + BEAT_S
    assert beside.boot_s - beside.renewed["one"][-1] < 2 * BEAT_S, "until then its lease was kept"
    assert f"process {WORKER} is killed: its interpreter has been stuck for 60 s" in capsys.readouterr().err


def test_a_worker_that_sticks_with_a_hung_effect_is_killed_soon(beside: Beside) -> None:
    """Its effect was past its time before; but a worker whose interpreter runs sees to that itself."""
    beside.hold("one", since_s=beside.boot_s - LONGEST_S)
    beside.renews = False
    beside.pass_(10 * BEAT_S)
    assert beside.killed == []
    beside.runs = False
    beside.pass_(2 * BEAT_S)
    assert beside.killed


def test_a_lease_of_a_hung_effect_is_let_go_alone(beside: Beside) -> None:
    """While the interpreter runs, the other leases of its worker are kept."""
    beside.hold("one", since_s=beside.boot_s)
    beside.records["hung"] = ("7", claim_of("hung"))
    beside.shared.hold(HeldRow("hung", 7, claim_of("hung"), beside.boot_s - LONGEST_S))
    beside.renews = False
    beside.pass_(10 * BEAT_S)
    assert (beside.times("hung"), beside.times("one")) == (0, 8)


def test_a_worker_that_sticks_from_its_first_moment_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has never shown that its interpreter runs, and counts from when there is somebody to look."""
    beside = Beside(monkeypatch)
    sticks(beside)
    beside.pass_(LONGEST_S - BEAT_S)
    assert beside.killed == []
    beside.pass_(2 * BEAT_S)
    assert beside.killed
    beside.shared.close()


def test_nobody_is_killed_by_a_number_that_may_be_anothers(beside: Beside) -> None:
    """The worker is gone, and this process just about to end."""
    sticks(beside)
    beside.parent = 1
    beside.pass_(2 * LONGEST_S)
    assert beside.killed == []


@pytest.mark.parametrize("error", [OSError("away"), ValueError("no reply of the protocol"), ImportError("no ssl")])
def test_a_server_that_is_away_is_asked_at_each_look(beside: Beside, error: Exception) -> None:
    """The process outlives whatever is wrong there, and the first look at which it is right again renews."""
    sticks(beside)
    beside.error = error
    beside.pass_(10 * BEAT_S)
    assert beside.asked >= 30
    beside.error = None
    beside.pass_(BEAT_S / 4)
    assert beside.times("one") == 1


def test_what_the_server_says_of_a_claim_decides(beside: Beside) -> None:
    """A claim whose answer nobody could read: renewed if it was granted; neither if it was not yet, nor if another
    has it, nor if the record is none. The others are renewed whatever it is."""
    beside.hold("one")
    beside.records |= {
        "granted": ("9", claim_of("granted")),
        "free": (None, None),  # type: ignore[dict-item]  # no field is there
        "freed": ("9", None),  # type: ignore[dict-item]
        "anothers": ("9", "other"),
        "damaged": None,
    }
    for task in ("damaged", "free", "freed", "anothers", "granted"):
        beside.shared.hold(HeldRow(task, 0, claim_of(task)))
    sticks(beside)
    beside.pass_(10 * BEAT_S)
    assert {task: len(times) for task, times in beside.renewed.items()} == {"granted": 8, "one": 8}


def test_a_claim_that_was_not_granted_is_asked_for_once_a_beat(beside: Beside) -> None:
    """The server is not asked at every look, and nothing is renewed."""
    beside.hold()
    beside.shared.hold(HeldRow("free", 0, claim_of("free")))
    sticks(beside)
    beside.pass_(10 * BEAT_S)
    assert (beside.asked, beside.renewed) == (8, {})


def test_shared_memory_that_is_being_written_is_looked_at_again(beside: Beside) -> None:
    """What was read of it counts for nothing, and costs no lease its renewal."""
    sticks(beside)
    whole = beside.shared._map[BODY_AT + BODY.size]
    torn = [0]

    def each() -> None:
        torn[0] += 1
        beside.shared._map[BODY_AT + BODY.size] = whole if torn[0] > 6 else whole ^ 1

    beside.each = each
    since_s = beside.boot_s
    beside.pass_(3 * BEAT_S)
    assert beside.renewed["one"] == [since_s + 7 * BEAT_S / 4, since_s + 12 * BEAT_S / 4]


@pytest.mark.parametrize("platform", [sys.platform, "other"])
def test_more_leases_than_fit_are_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, platform: str
) -> None:
    """Whole rows alone, from the first on; the log says so. Fewer are told of whole, and none as none."""
    with monkeypatch.context() as patched:
        patched.setattr(sys, "platform", platform)
        shared = SharedLeases()
    shown = mmap.mmap(shared.descriptor, SHARED_BYTES, prot=mmap.PROT_READ)
    assert rows_of(shown) == []
    claim = "c" * 2_000  # fewer and longer rows
    rows = [HeldRow("task", number, f"{claim}{number}", 1.5 if number % 2 else None) for number in range(200)]
    wanted = [[row.task_id, str(row.fence), row.claim_id, "1.5" if row.fence % 2 else ""] for row in rows]
    for row in rows[:100]:
        shared.hold(row)
    assert (rows_of(shown), caplog.records) == (wanted[:100], [])
    for row in rows[100:]:
        shared.hold(row)
    fits = rows_of(shown)
    assert 100 < len(fits) < len(rows)
    assert fits == wanted[: len(fits)]
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert len(caplog.records) == len(rows) - len(fits)
    free = SHARED_BYTES - BODY_AT - BODY.size - sum(len("\t".join(row)) + 1 for row in fits)
    assert 0 <= free <= len("\t".join(wanted[len(fits)])), "the next one would not have fitted"
    shared.hold(replace(rows[0], fence=77))
    assert rows_of(shown)[0][1] == "77", "of a claim that is known the row is another one now"
    for row in rows[:100]:
        shared.let_go(row.claim_id)
    assert rows_of(shown) == wanted[100:], "there is room for all now"
    for row in rows:
        shared.let_go(row.claim_id)
    assert rows_of(shown) == []
    opened = len([*Path("/dev/fd").iterdir()])
    shared.close()
    assert len([*Path("/dev/fd").iterdir()]) == opened - 2, "the memory, and the map's own descriptor of it"


def test_a_stopped_process_is_told_from_one_that_sleeps_and_one_that_is_gone(beside: Beside) -> None:
    """As the system says it of a real process."""
    with subprocess.Popen(["sleep", "600"]) as child:
        assert not beside.is_stopped(child.pid)
        os.kill(child.pid, signal.SIGSTOP)
        until(lambda: beside.is_stopped(child.pid))
        os.kill(child.pid, signal.SIGCONT)
        until(lambda: not beside.is_stopped(child.pid))
        child.kill()
    assert not beside.is_stopped(child.pid)
