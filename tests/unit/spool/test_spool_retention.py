"""What is kept and what goes."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool, records, retention
from neuraphage.spool.entry import Entry


def age(spool, effect_id, seconds):
    """Make an entry look that old."""
    then = time.time() - seconds
    alive = spool._root / effect_id / "alive"
    if alive.exists():
        alive.write_text(alive.read_text(encoding="utf-8").partition(" at ")[0], encoding="utf-8")  # as of another boot
    os.utime(spool._root / effect_id, (then, then))


def test_only_entries_that_are_over_go(spool, order, calm):
    """Done, sealed and lost entries go when old enough; running and young ones stay."""
    done, young, running = order("echo x"), order("echo x"), order("sleep 60")
    for command in (done, young):
        spool.start(command)
        spool.wait(command.effect_id, 10, calm)
    spool.start(running)
    sealed, lost = "a" * 32, "b" * 32
    spool.seal(sealed)
    (spool._root / lost).mkdir()
    (spool._root / lost / "decision").write_text("started", encoding="utf-8")
    for effect_id in (done.effect_id, running.effect_id, sealed, lost):
        age(spool, effect_id, 100)
    assert spool.expire(50) == 3
    assert {path.name for path in spool._root.iterdir()} == {young.effect_id, running.effect_id}
    assert spool.look(running.effect_id, 10).state is DetachedState.RUNNING


@pytest.mark.skipif(not Path("/proc/sys/kernel/random/boot_id").exists(), reason="needs Linux")
def test_a_clock_that_is_set_makes_nothing_old(spool, order, calm, eventually):
    """A record that went with the step of a clock would look as if its command had never run."""
    command = order("true")
    spool.start(command)
    spool.wait(command.effect_id, 10, calm)
    entry = spool._root / command.effect_id
    eventually(lambda: not Entry(entry).is_alive())
    then = time.time() - 100
    os.utime(entry, (then, then))
    assert spool.expire(50) == 0
    assert spool.look(command.effect_id, 10).state is DetachedState.DONE
    (entry / "alive").write_text(
        "runner 1 keeper 2 at another-boot@1", encoding="utf-8"
    )  # nothing else is known of that one
    assert spool.expire(50) == 1


def test_abandoned_entries_are_sealed_then_deleted(spool, order):
    """An entry whose starter died long ago is forbidden to start before it may be deleted."""
    command = order("true")
    (spool._root / command.effect_id).mkdir()
    age(spool, command.effect_id, 100)
    assert spool.expire(10) == 0
    assert spool.look(command.effect_id, 10).state is DetachedState.ABSENT
    age(spool, command.effect_id, 10_000)
    assert spool.expire(10) == 0
    assert spool.look(command.effect_id, 10).state is DetachedState.SEALED
    age(spool, command.effect_id, 100)
    assert spool.expire(10) == 1
    assert list(spool._root.iterdir()) == []


@pytest.mark.parametrize(
    ("step", "error", "gone"),
    [
        ("decide", OSError(errno.ENOSPC, "No space left on device"), 3),
        ("_delete", OSError(errno.EROFS, "Read-only file system"), 2),
        ("_delete", SpoolError("it cannot be read"), 2),
    ],
)
def test_one_entry_that_cannot_go_keeps_no_other(spool, monkeypatch, step, error, gone):
    """On a full disk no abandoned entry can be sealed, and what takes the room must go all the same."""
    for letter in "abc":
        spool.seal(letter * 32)
        age(spool, letter * 32, 10_000)
    (spool._root / ("d" * 32)).mkdir()
    age(spool, "d" * 32, 10_000)
    module = records if step == "decide" else retention
    take, tried = getattr(module, step), []

    def refused_once(*args):
        tried.append(args)
        if len(tried) == 1:
            raise error
        return take(*args)

    monkeypatch.setattr(module, step, refused_once)
    assert spool.expire(50) == gone


def test_what_another_process_deletes_meanwhile_is_counted_by_that_one(spool, monkeypatch):
    """Two visits at once delete each entry once, and a look at the size goes on."""
    for letter in "ab":
        spool.seal(letter * 32)
        age(spool, letter * 32, 100)
    size_bytes = spool.total_bytes()
    rename, lstat, faster = Path.rename, Path.lstat, []

    def deleted_before(act):
        def meet(path, *args):
            if not faster:
                faster.append(path)
                raise FileNotFoundError(errno.ENOENT, "No such file or directory")
            return act(path, *args)

        return meet

    monkeypatch.setattr(Path, "lstat", deleted_before(lstat))
    assert spool.total_bytes() == size_bytes // 2
    faster.clear()
    monkeypatch.setattr(Path, "rename", deleted_before(rename))
    assert spool.expire(50) == 1
    assert [path.name for path in spool._root.iterdir()] == [faster[0].name]


def test_a_command_that_is_over_but_whose_guardian_lives_stays(spool):
    """It still ends what the command has left behind, and may be asked to."""
    spool.seal("a" * 32)
    age(spool, "a" * 32, 100)
    directory = os.open(spool._root / ("a" * 32), os.O_RDONLY)
    alive = records.lock_alive(directory)
    age(spool, "a" * 32, 100)
    assert spool.expire(50) == 0
    os.close(alive)
    os.close(directory)
    assert spool.expire(50) == 1


def test_foreign_files_are_left_alone(spool):
    """What is no entry is not touched, however old."""
    (spool._root / "notes").mkdir()
    (spool._root / "README").touch()
    for name in ("notes", "README"):
        age(spool, name, 10_000)
    assert spool.expire(0) == 0
    assert list((spool._root / "notes").iterdir()) == []
    assert spool.running() == []
    assert len(list(spool._root.iterdir())) == 2


def test_interrupted_deletion_is_finished(spool):
    """A half-deleted entry is out of sight at once and removed by the next spool that opens the folder."""
    (spool._root / f"trash.{'a' * 32}.1234").mkdir()
    CommandSpool(spool._root, 1000)
    assert list(spool._root.iterdir()) == []


def test_total_bytes_counts_files(spool, order, calm):
    """The size of the folder grows by what a command wrote."""
    command = order("head -c 10000 /dev/zero")
    spool.start(command)
    spool.wait(command.effect_id, 10, calm)
    assert 10_000 < spool.total_bytes() < 11_000
