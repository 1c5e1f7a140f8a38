"""Users of a stack, and a purge that comes in between: neither pulls the folder away from under the other."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

import pytest

from neuraphage.data_folder import make_data_folder
from neuraphage.dev import stack_use
from neuraphage.dev.purge import unused_folder
from neuraphage.dev.stack_use import UnusedStop, use_stack
from neuraphage.dev.stop_request import StopRequest
from neuraphage.errors import StackError
from neuraphage.settings import Settings
from patience import PATIENCE_S


def test_purge_waits_for_who_uses_the_stack(data_dir: Path) -> None:
    """A run that waits for its stack to start has nothing else to show yet."""
    make_data_folder(data_dir)
    with use_stack(data_dir) as use:  # type: ignore[union-attr]  # nobody else is there
        assert not use.closed
        with pytest.raises(StackError, match="is in use: a `neuraphage run` waits for its stack"):
            unused_folder(Settings(data_dir=data_dir)).__enter__()
    with unused_folder(Settings(data_dir=data_dir)):
        pass


def test_nobody_becomes_a_user_while_purge_asks(data_dir: Path) -> None:
    """The stack that it then started would take itself for unused, and end with the task in hand."""
    make_data_folder(data_dir)
    use_stack(data_dir).close()  # type: ignore[union-attr]  # nobody else is there
    with unused_folder(Settings(data_dir=data_dir)):
        assert use_stack(data_dir) is None
    assert use_stack(data_dir) is not None


def test_a_lock_on_a_file_that_is_gone_is_none(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Removed between the opening and the lock."""
    make_data_folder(data_dir)
    lock = fcntl.flock

    def removed_first(file: IO[bytes], how: int) -> None:
        Path(file.name).unlink()
        lock(file, how)

    with monkeypatch.context() as patch:
        patch.setattr(stack_use.fcntl, "flock", removed_first)
        assert use_stack(data_dir) is None
    assert use_stack(data_dir) is not None


def test_a_stack_whose_folder_is_gone_ends(data_dir: Path) -> None:
    """Nobody can become a user of it any more, nor find it to stop it."""
    make_data_folder(data_dir)
    stop = StopRequest()
    with use_stack(data_dir):  # type: ignore[union-attr]  # nobody else is there
        data_dir.rename(data_dir.parent / "elsewhere")
        UnusedStop(data_dir, stop).start()
        assert stop.wait(PATIENCE_S)
    assert not stop.at_once
