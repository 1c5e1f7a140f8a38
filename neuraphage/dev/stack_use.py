"""Who uses a stack that nobody keeps by hand: a lock that all its users share, and that the kernel gives back.

`neuraphage run` starts a stack when none runs, and others may come to use it meanwhile. Each user holds the lock
of the data folder shared for as long as it lives, however it ends. The stack ends when it can have the lock alone.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from neuraphage.dev.server_files import open_files
from neuraphage.dev.stop_request import StopRequest
from neuraphage.private_files import open_private

LOOK_AGAIN_S = 0.2
_USE_FILE = "stack.use"
_START_FILE = "stack.start"


def use_stack(data_dir: Path) -> IO[bytes] | None:
    """Become a user of the stack of this folder, before looking whether there is one.

    Returns:
        The lock; close it to be none any more. None while an unused stack is ending.

    Raises:
        OSError: the folder cannot be written.
    """
    return _locked(data_dir / _USE_FILE, fcntl.LOCK_SH | fcntl.LOCK_NB)


def lock_start(data_dir: Path) -> IO[bytes] | None:
    """Become the one who looks for a stack and starts one; None while another is.

    Raises:
        OSError: the folder cannot be written.
    """
    return _locked(data_dir / _START_FILE, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def no_users(data_dir: Path) -> Iterator[bool]:
    """Keep everybody from becoming a user of the stack of this folder; tells whether there is none.

    Raises:
        OSError: the folder cannot be written.
    """
    path = data_dir / _USE_FILE
    if not path.exists():
        yield True
        return
    lock = _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.close()


def is_taken(data_dir: Path) -> bool:
    """Whether a launcher holds the folder: its stack runs, starts or ends.

    Raises:
        StackError: the folder cannot be used.
    """
    probe = _locked(open_files(data_dir).folder / "lock", fcntl.LOCK_SH | fcntl.LOCK_NB)
    if probe is None:
        return True
    probe.close()
    return False


class UnusedStop(threading.Thread):
    """Asks a stack to stop once nobody uses it; new users are refused from then on, until this process ends.

    Args:
        data_dir: folder of the stack.
        stop: asked when nobody uses it.
    """

    def __init__(self, data_dir: Path, stop: StopRequest) -> None:
        super().__init__(name="unused", daemon=True)
        self._path = data_dir / _USE_FILE
        self._stop_stack = stop
        self._lock: IO[bytes] | None = None

    def run(self) -> None:
        """Look until the lock can be had alone."""
        while not self._stop_stack.wait(LOOK_AGAIN_S):
            try:
                self._lock = _locked(self._path, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except FileNotFoundError:  # the folder was removed: nobody can find this stack any more
                self._stop_stack.ask_gently()
            if self._lock is not None:
                self._stop_stack.ask_gently()


def _opener(name: str, flags: int) -> int:
    return open_private(Path(name), flags & ~os.O_CREAT)


def _locked(path: Path, how: int) -> IO[bytes] | None:
    file = open(path, "ab", opener=_opener)  # noqa: SIM115 - open means locked
    try:
        fcntl.flock(file, how)
        if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
            return file
    except BlockingIOError:
        pass
    except BaseException:
        file.close()
        raise
    file.close()  # another one holds it, or a purge has removed it meanwhile: nobody else would see this lock
    return None
