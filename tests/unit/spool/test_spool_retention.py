"""What is kept and what goes."""

from __future__ import annotations

import errno
import importlib
import os
import time
from pathlib import Path

import pytest

from neuraphage.ports import SpoolState
from neuraphage.spool import CommandSpool
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
    assert spool.look(running.effect_id, 10).state is SpoolState.RUNNING


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
    assert spool.look(command.effect_id, 10).state is SpoolState.DONE
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
    assert spool.look(command.effect_id, 10).state is SpoolState.ABSENT
    age(spool, command.effect_id, 10_000)
    assert spool.expire(10) == 0
    assert spool.look(command.effect_id, 10).state is SpoolState.SEALED
    age(spool, command.effect_id, 100)
    assert spool.expire(10) == 1
    assert list(spool._root.iterdir()) == []


@pytest.mark.parametrize("step", ["neuraphage.spool.records.decide", "neuraphage.spool.retention._delete"])
def test_one_entry_that_cannot_go_keeps_no_other(spool, monkeypatch, step):
    """On a full disk no abandoned entry can be sealed, and what takes the room must go all the same."""
    sealed = [letter * 32 for letter in "abc"]
    for effect_id in sealed:
        spool.seal(effect_id)
        age(spool, effect_id, 10_000)
    (spool._root / ("d" * 32)).mkdir()
    age(spool, "d" * 32, 10_000)
    take, tried = importlib.import_module(step.rpartition(".")[0]).__dict__[step.rpartition(".")[2]], []

    def refused_once(*args):
        tried.append(args)
        if len(tried) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return take(*args)

    monkeypatch.setattr(step, refused_once)
    assert spool.expire(50) == (3 if "decide" in step else 2)
    assert len(tried) == (1 if "decide" in step else 3)


def test_foreign_files_are_left_alone(spool):
    """What is no entry is not touched."""
    (spool._root / "notes").mkdir()
    (spool._root / "README").touch()
    assert spool.expire(0) == 0
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
