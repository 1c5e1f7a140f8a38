"""What is kept and what goes."""

from __future__ import annotations

import os
import time

from neuraphage.ports import SpoolState
from neuraphage.spool import CommandSpool


def age(spool, effect_id, seconds):
    """Make an entry look that old."""
    then = time.time() - seconds
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
    (spool._root / lost / "decision").write_text("started")
    for effect_id in (done.effect_id, running.effect_id, sealed, lost):
        age(spool, effect_id, 100)
    assert spool.expire(50) == 3
    assert {path.name for path in spool._root.iterdir()} == {young.effect_id, running.effect_id}
    assert spool.look(running.effect_id, 10).state is SpoolState.RUNNING


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
