"""Ending commands from outside: cancel, revoke, and waits that are interrupted."""

from __future__ import annotations

import pytest

from neuraphage.errors import CancelRequested, LeaseLost
from neuraphage.model.detached import DetachedState

DONE, RUNNING, SEALED, ABSENT = DetachedState.DONE, DetachedState.RUNNING, DetachedState.SEALED, DetachedState.ABSENT


def test_cancel_waits_until_all_are_gone(spool, order, token, living, eventually):
    """Cancel ends the command with everything below it and returns only then."""
    command = order(f"setsid sleep {token} & sleep {token}")
    spool.start(command)
    eventually(lambda: len(living()) == 2)
    assert spool.cancel(command.effect_id) is DONE
    assert living() == []
    assert spool.look(command.effect_id, 100).reason == "cancelled"
    assert spool.cancel(command.effect_id) is DONE


def test_cancel_before_the_start_forbids_it(spool, order, tmp_path):
    """A cancelled command that had not started never does."""
    command = order("touch ran")
    assert spool.cancel(command.effect_id) is SEALED
    assert spool.start(command) is SEALED
    assert not (tmp_path / "ran").exists()


def test_revoke_names_its_reason(spool, order, calm, token, living):
    """A command whose lease has moved is ended by its own process, and says why."""
    command = order(f"sleep {token}")
    spool.start(command)
    assert spool.running() == [(command.effect_id, "task-of-test")]
    assert spool.revoke(command.effect_id) is RUNNING
    assert spool.wait(command.effect_id, 100, calm).reason == "lease_moved"
    assert living() == []
    assert spool.running() == []


class Stopping:
    """An interrupt that asks to stop from its third check on."""

    def __init__(self, signal):
        self.signal, self.checks = signal, 0

    def check(self):
        """Go on twice, then stop."""
        self.checks += 1
        if self.checks > 2:
            raise self.signal

    def subscribe(self, wake):
        """Never wake."""
        return lambda: None


def test_wait_cancels_on_request(spool, order, token, living):
    """A person's cancel ends the command before wait gives control back."""
    command = order(f"sleep {token}")
    spool.start(command)
    with pytest.raises(CancelRequested):
        spool.wait(command.effect_id, 100, Stopping(CancelRequested()))
    assert living() == []
    assert spool.look(command.effect_id, 100).reason == "cancelled"


def test_wait_leaves_the_command_when_the_lease_is_lost(spool, order, calm, tmp_path):
    """A worker that lost its lease detaches; the command goes on and its outcome can be read."""
    command = order("until [ -e go ]; do sleep 0.01; done; echo finished")
    spool.start(command)
    with pytest.raises(LeaseLost):
        spool.wait(command.effect_id, 100, Stopping(LeaseLost()))
    assert spool.look(command.effect_id, 100).state is RUNNING
    (tmp_path / "go").touch()
    assert spool.wait(command.effect_id, 100, calm).output == "finished\n"


def test_wait_tells_at_once_of_what_does_not_run(spool, calm):
    """There is nothing to wait for in an entry that is absent or sealed."""
    assert spool.wait("a" * 32, 100, calm).state is ABSENT
    spool.seal("a" * 32)
    assert spool.wait("a" * 32, 100, calm).state is SEALED
