"""What the kernel does for a family of processes: an end with the parent, a new parent for orphans, and a memory that
other processes of the user cannot read (Linux).

Standard library only: programs that start without the package load this file by its folder.
"""

from __future__ import annotations

import os
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def end_with_parent(signum: int) -> None:
    """Have the kernel send this process a signal when its parent ends; 0 for none. Forked children do not inherit it.

    The parent may have ended before: ask for it afterwards. Elsewhere than on Linux nothing is done.

    Raises:
        OSError: the kernel refused.
    """
    _prctl(_PR_SET_PDEATHSIG, signum)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose parent dies. Forked children do not inherit it. As above elsewhere.

    Raises:
        OSError: the kernel refused.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """Let no process of this user read our memory, environment and open files, and write no core dump. Forked children
    inherit it; another program in our place (execve) does not. As above elsewhere.

    Raises:
        OSError: the kernel refused.
    """
    _prctl(_PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - processes that have no use for it import this file, too

    if ctypes.CDLL(None, use_errno=True).prctl(option, int(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {value}): {os.strerror(number)}")
