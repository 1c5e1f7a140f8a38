"""Who looks for dead processes on a host: one holder, and somebody else while that one is silent."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from neuraphage.runtime.election import SILENT_S, HostElection

HOST = "boot-1"


@pytest.fixture
def elections(tmp_path: Path) -> list[HostElection]:
    """Three processes of one host; the first holds the lock."""
    made = [HostElection(tmp_path, HOST) for _ in range(3)]
    assert [election.leads() for election in made] == [True, False, False]
    return made


def shown(folder: Path, ago_s: float) -> None:
    """The holder showed itself so long ago; a time in the future is a clock that was set back."""
    (lock,) = folder.glob("*.lock")
    then_s = time.time() - ago_s
    os.utime(lock, (then_s, then_s))


@pytest.mark.parametrize("ago_s", [2 * SILENT_S, 86_400.0, -86_400.0])
def test_one_of_the_others_stands_in_for_a_silent_holder(
    elections: list[HostElection], tmp_path: Path, ago_s: float
) -> None:
    """One of two, for one look; a clock that was set back by a day keeps nobody from it."""
    _, second, third = elections
    shown(tmp_path, ago_s)
    assert [second.leads(), third.leads(), second.leads()] == [True, False, False]
    shown(tmp_path, 2 * SILENT_S)
    assert [third.leads(), second.leads()] == [True, False]
    assert not second.won(), "standing in takes no lock"


def test_a_holder_that_is_back_leads_alone(elections: list[HostElection], tmp_path: Path) -> None:
    """Its next look shows it again."""
    first, second, _ = elections
    shown(tmp_path, 2 * SILENT_S)
    first._shown_s = time.monotonic() - SILENT_S  # so long has it stood still
    assert [first.leads(), second.leads()] == [True, False]


def test_a_holder_shows_itself_while_it_looks(elections: list[HostElection], tmp_path: Path) -> None:
    """Over several times SILENT_S of looks, nobody stands in."""
    first, second, _ = elections
    until_s = time.monotonic() + 2.5 * SILENT_S
    while time.monotonic() < until_s:
        assert [first.leads(), second.leads()] == [True, False]
        time.sleep(SILENT_S / 50)  # the pace of looks, not a wait for anything


def test_a_holder_writes_no_more_often_than_it_has_to(
    elections: list[HostElection], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times in SILENT_S, where it looks ten times a second."""
    first, _, _ = elections
    (lock,) = tmp_path.glob("*.lock")
    now_s, written = time.monotonic() + SILENT_S, []
    monkeypatch.setattr("neuraphage.runtime.election.time", SimpleNamespace(monotonic=lambda: now_s, time=time.time))
    for number in range(100):
        now_s += SILENT_S / 50
        os.utime(lock, (1.0, 1.0))
        assert first.leads()
        if lock.stat().st_mtime > 1.0:
            written.append(number)
    assert written[:3] == [0, 13, 26]
    assert len(written) == 8


def test_a_holder_that_resigns_in_the_midst_of_a_look_fails_at_nothing(
    elections: list[HostElection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that ends gives the watch back while its watcher may just look; another one takes it."""
    first, second, _ = elections
    won = first.won

    def won_and_resigned() -> bool:
        answer = won()
        first.resign()
        return answer

    first._shown_s = -SILENT_S
    monkeypatch.setattr(first, "won", won_and_resigned)
    assert first.leads()
    assert second.won()


def test_the_lock_of_a_holder_that_is_gone_is_taken(elections: list[HostElection]) -> None:
    """At once, without waiting for its silence."""
    first, second, third = elections
    first.resign()
    assert [second.won(), third.won(), second.leads(), third.leads()] == [True, False, True, False]


def test_who_has_resigned_leads_no_more(elections: list[HostElection]) -> None:
    """Until the lock is free again; to resign twice, or without having won, does nothing."""
    first, second, third = elections
    for election in (first, first, third):
        election.resign()
    assert [second.won(), first.won(), first.leads()] == [True, False, False]
    second.resign()
    assert first.won()


def test_who_asks_again_and_again_opens_no_more_files(elections: list[HostElection]) -> None:
    """The others ask ten times a second, for as long as they live."""
    _, second, _ = elections
    before = len([*Path("/proc/self/fd").iterdir()])
    assert not any(second.won() for _ in range(20))
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_the_folder_of_the_locks_is_made(tmp_path: Path) -> None:
    """The first process of a host makes it, for this user alone."""
    folder = tmp_path / "watcher"
    election = HostElection(folder, HOST)
    assert election.won()
    assert folder.stat().st_mode & 0o077 == 0
    election.resign()
