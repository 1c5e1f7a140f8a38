"""Run a command that dies with its parent (Linux). A script of its own, with the standard library only.

    python -I -S tether.py <pid of the parent> <program> [argument ...]

The kernel is asked to kill this process when its parent ends, however that ends; then the program takes this process
over, with the same process id. Asking between fork and exec would not be safe in a parent with threads. Where the
kernel cannot do this (macOS), the program simply runs.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent and become the program."""
    parent_pid, argv = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "ask the kernel to end this process with its parent (prctl)")
        if os.getppid() != parent_pid:
            sys.exit("the parent ended before its child began")
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - the supervisor's own command line, no shell
    except OSError as error:
        sys.exit(f"start {argv[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
