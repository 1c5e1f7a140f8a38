"""Started or sealed: decided once, whoever races."""

from __future__ import annotations

import fcntl
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool, records
from neuraphage.spool.commands import pack
from neuraphage.spool.entry import Entry
from neuraphage.spool.launch import RUNNER, launch

DONE, RUNNING, SEALED, ABSENT, LOST = (
    DetachedState.DONE,
    DetachedState.RUNNING,
    DetachedState.SEALED,
    DetachedState.ABSENT,
    DetachedState.LOST,
)


def test_a_sealed_command_never_starts(spool, order, tmp_path):
    """A seal stands for ever, and is told as such."""
    command = order("echo x >> ran")
    assert spool.look(command.effect_id, 10).state is ABSENT
    assert spool.seal(command.effect_id) is SEALED
    assert spool.seal(command.effect_id) is SEALED
    assert spool.start(command) is SEALED
    assert not (tmp_path / "ran").exists()


def test_a_started_command_is_never_sealed(spool, order, calm):
    """A seal that comes too late changes nothing."""
    command = order("until [ -e go ]; do sleep 0.01; done")
    assert spool.start(command) is RUNNING
    assert spool.seal(command.effect_id) is RUNNING
    (spool._root.parent / "go").touch()
    assert spool.wait(command.effect_id, 10, calm).state is DONE
    assert spool.seal(command.effect_id) is DONE


def test_a_second_start_only_looks(spool, order, calm, tmp_path):
    """A duplicate start tells of the first one, while it runs and after."""
    command = order("echo x >> ran; until [ -e go ]; do sleep 0.01; done")
    assert spool.start(command) is RUNNING
    assert spool.start(command) is RUNNING
    (tmp_path / "go").touch()
    spool.wait(command.effect_id, 10, calm)
    assert spool.start(command) is DONE
    assert (tmp_path / "ran").read_text(encoding="utf-8") == "x\n"


def race(spool, command, jobs):
    """Run the jobs in forked processes that set off together; returns what each came to."""
    start_read, start_write = os.pipe()
    racers = []
    for job in jobs:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(start_write)
                os.read(start_read, 1)  # returns when the race begins
                os.write(writing, getattr(spool, job)(command if job == "start" else command.effect_id).encode())
            finally:
                os._exit(0)
        os.close(writing)
        racers.append((pid, reading))
    os.close(start_write)
    results = []
    for pid, reading in racers:
        with os.fdopen(reading, "rb") as pipe:
            results.append(pipe.read().decode())
        os.waitpid(pid, 0)
    os.close(start_read)
    return results


@pytest.mark.parametrize("sealers", [0, 3])
def test_racing_starters_and_sealers_decide_once(spool, order, calm, tmp_path, sealers):
    """Of 20 processes at once, one decides: the command runs exactly once, or it is sealed and never runs."""
    for number in range(2):
        command = order(f"echo x >> ran{number}; until [ -e go ]; do sleep 0.01; done")
        (tmp_path / "go").unlink(missing_ok=True)
        results = race(spool, command, ["seal"] * sealers + ["start"] * (20 - sealers))
        (tmp_path / "go").touch()
        status = spool.wait(command.effect_id, 10, calm)
        ran = (tmp_path / f"ran{number}").read_text(encoding="utf-8") if (tmp_path / f"ran{number}").exists() else ""
        if status.state is SEALED:
            assert (set(results), ran) == ({"sealed"}, "")
        else:
            assert (status.state, set(results), ran) == (DONE, {"running"}, "x\n")


def test_the_decision_itself_is_exclusive(spool, tmp_path):
    """Linking decides for one of many, and no reader ever sees anything but a whole word."""
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        directory = os.open(folder, os.O_RDONLY)
        with ThreadPoolExecutor(8) as pool:
            words = [records.STARTED, records.SEALED] * 4
            won = list(pool.map(lambda word, at=directory: records.decide(at, word), words))
        assert sum(won) == 1
        assert records.read_decision(directory) == words[won.index(True)]
        assert [path.name for path in folder.iterdir()] == [records.DECISION]
        os.close(directory)


def test_a_runner_that_finds_a_request_to_end_seals(spool, order, tmp_path):
    """A request to end that arrives before the decision keeps the command from starting."""
    command = order("touch ran")
    entry = tmp_path / "spool" / command.effect_id
    entry.mkdir()
    (entry / records.REVOKED).touch()
    assert spool.start(command) is SEALED
    assert not (tmp_path / "ran").exists()


def test_an_entry_held_but_undecided_is_absent_and_can_be_sealed(spool, order):
    """A runner that has not decided yet is not told as running, and a seal still wins."""
    command = order("true")
    entry = spool._root / command.effect_id
    entry.mkdir()
    directory = os.open(entry, os.O_RDONLY)
    alive = records.lock_alive(directory)
    try:
        assert spool.look(command.effect_id, 10).state is ABSENT
        assert spool.seal(command.effect_id) is SEALED
    finally:
        os.close(alive)
        os.close(directory)


def test_a_start_that_cannot_be_decided_is_sealed(spool, order, monkeypatch):
    """A start that gets no decision in time seals the entry, so that its error means: it has not run."""
    monkeypatch.setattr("neuraphage.spool.command_spool._START_LIMIT_S", 0.2)
    command = order("true")
    entry = spool._root / command.effect_id
    entry.mkdir()
    directory = os.open(entry, os.O_RDONLY)
    alive = records.lock_alive(directory)  # a runner that hangs before its decision
    try:
        with pytest.raises(SpoolError, match="it was sealed"):
            spool.start(command)
    finally:
        os.close(alive)
        os.close(directory)
    assert spool.look(command.effect_id, 10).state is SEALED


def test_torn_files_are_evidence_not_errors(spool, order, calm, eventually):
    """After a power cut empty or garbled files lead to LOST or ABSENT, never to an exception."""
    command = order("echo x")
    spool.start(command)
    spool.wait(command.effect_id, 10, calm)
    entry = spool._root / command.effect_id
    eventually(lambda: not Entry(entry).is_alive())  # the keeper goes just after the record is written
    for torn in (b"", b"\0\0\0", b"{", b"[]", b'{"exit_code": 0}', b"\xff"):
        (entry / "exit.json").write_bytes(torn)
        (entry / "command.json").write_bytes(torn)
        assert spool.look(command.effect_id, 10).state is LOST
        assert spool.start(command) is LOST
        assert spool.running() == []
    (entry / "decision").write_bytes(b"")
    assert spool.look(command.effect_id, 10).state is LOST
    (entry / "decision").unlink()
    assert spool.look(command.effect_id, 10).state is ABSENT


def test_another_spool_object_sees_the_same(spool, order, calm):
    """All state is in the folder: a second object, as another process has it, attaches and reads."""
    command = order("echo x")
    spool.start(command)
    other = CommandSpool(spool._root, 1000)
    assert other.wait(command.effect_id, 10, calm).output == "x\n"


def test_a_late_runner_touches_nothing(spool, order, calm, tmp_path):
    """A runner that comes when all is over says so and leaves output and record as they are."""
    command = order("echo x | tee -a ran")
    spool.start(command)
    first = spool.wait(command.effect_id, 10, calm)
    packed = pack(command, spool._root / command.effect_id, 1000)
    answers = set()
    while not answers & {records.DECIDED}:  # busy while the keeper is still there
        answers.add(launch(RUNNER, packed, 10))
        assert answers <= {records.BUSY, records.DECIDED}
    assert spool.look(command.effect_id, 10) == first
    assert (tmp_path / "ran").read_text(encoding="utf-8") == "x\n"


def test_observers_do_not_mistake_each_other_for_a_runner(spool):
    """Two who look at the same instant both find the lock free."""
    entry = spool._root / ("c" * 32)
    entry.mkdir()
    (entry / "decision").write_text("started", encoding="utf-8")
    with (entry / "alive").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert spool.look(entry.name, 10).state is LOST


def test_an_end_between_two_looks_is_not_lost(spool, order, calm, monkeypatch):
    """A record written just before the lock became free is found by the second look."""
    command = order("exit 5")
    spool.start(command)
    spool.wait(command.effect_id, 10, calm)
    entry = spool._root / command.effect_id
    (entry / "exit.json").rename(entry / "later")

    def free_after_writing(directory):
        (entry / "later").rename(entry / "exit.json")
        return False

    monkeypatch.setattr(records, "is_alive", free_after_writing)
    assert spool.look(command.effect_id, 10).exit_code == 5


def test_a_look_holds_nobody_up_although_a_process_was_forked_meanwhile(tmp_path, monkeypatch):
    """The child has a copy of the open file, and with it the lock, for as long as it runs."""
    directory = os.open(tmp_path, os.O_RDONLY)
    os.close(records.lock_alive(directory))
    kept, close = [], os.close
    monkeypatch.setattr(os, "close", kept.append)
    assert not records.is_alive(directory)
    monkeypatch.undo()
    alive = records.lock_alive(directory)
    assert alive is not None
    opened = len(list(Path("/dev/fd").iterdir()))
    assert records.lock_alive(directory) is None
    assert len(list(Path("/dev/fd").iterdir())) == opened, "who finds it taken leaves no file open"
    for file in (*kept, alive, directory):
        close(file)


def test_the_mask_of_a_command_takes_no_right_of_ours(spool):
    """A worker may run under any mask; what it has written it reads again."""
    before = os.umask(0o777)
    try:
        assert spool.seal("a" * 32) is SEALED
    finally:
        os.umask(before)
    for path, mode in ((spool._root / ("a" * 32), 0o700), (spool._root / ("a" * 32) / "decision", 0o600)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
