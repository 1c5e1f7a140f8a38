"""Over its quota the spool starts no new command, and goes on with what it has."""

from __future__ import annotations

import time

import pytest

from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool, retention


def test_a_full_spool_starts_nothing_new(tmp_path, order, calm, monkeypatch):
    """The refusal names the quota and leaves no entry; what was started is read and attached to; room helps."""
    monkeypatch.setattr(retention, "_MEASURED_FOR_S", 0.0)
    spool = CommandSpool(tmp_path / "spool", 1_000_000, quota_bytes=20_000)
    first, second = order("head -c 30000 /dev/zero"), order("true")
    assert spool.start(first) is DetachedState.RUNNING
    assert spool.wait(first.effect_id, 100, calm).exit_code == 0
    with pytest.raises(SpoolError, match="spool_quota_bytes"):
        spool.start(second)
    assert spool.look(second.effect_id, 100).state is DetachedState.ABSENT
    assert not (tmp_path / "spool" / second.effect_id).exists()
    assert spool.start(first) is DetachedState.DONE
    while not spool.expire(0):  # its process ends a moment after the command; ended by the test's own time limit
        time.sleep(0.01)
    assert spool.start(second) is DetachedState.RUNNING
    spool.wait(second.effect_id, 100, calm)


def test_the_size_is_not_looked_at_for_every_command(tmp_path, monkeypatch):
    """A look reads every entry of the spool."""
    looks = []
    monkeypatch.setattr(retention, "total_bytes", lambda root: looks.append(root) or 0)
    quota = retention.Quota(tmp_path, 1)
    for _ in range(3):
        quota.check()
    assert len(looks) == 1
