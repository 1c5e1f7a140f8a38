"""What the kernel does for a family of processes: an end with the parent, and a new parent for orphans (Linux).

Standard library only: programs that start without the package load this file by its folder.
"""

from __future__ import annotations

import os
import sys

_PR_SET_PDEATHSIG = 1
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


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - processes that have no use for it import this file, too

    if ctypes.CDLL(None, use_errno=True).prctl(option, int(value), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {value}): {os.strerror(number)}")
