"""What another process of the same user can read of one, without the rights of root that the tests may have.

python secretreader.py run PROGRAM ARGUMENT...   runs a program without the rights to look into others
python secretreader.py read PID FILE             prints /proc/PID/FILE; ends with status 13 where it is refused
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = __file__
REFUSED = 13
_PR_CAPBSET_DROP = 24
_RIGHTS = (19, 21, 38)
"""CAP_SYS_PTRACE, CAP_SYS_ADMIN and CAP_PERFMON."""


def without_rights(*argv: str) -> list[str]:
    """A command line that runs a program like a plain user's: what is to be read, and what reads."""
    return [sys.executable, PROGRAM, "run", *argv]


def read(pid: int, name: str) -> bytes | None:
    """A file of /proc/PID, as another process of the user reads it; None where it may not."""
    argv = without_rights(sys.executable, PROGRAM, "read", str(pid), name)
    done = subprocess.run(argv, capture_output=True, check=False)
    assert done.returncode in (0, REFUSED), done.stderr
    return None if done.returncode else done.stdout


def main() -> None:
    """See above."""
    if sys.argv[1] == "run":
        for right in _RIGHTS:
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, right, 0, 0, 0)  # a plain user has none to lose
        os.execvp(sys.argv[2], sys.argv[2:])
    place = Path("/proc", *sys.argv[2:4])
    try:
        if place.name == "mem":
            os.close(os.open(place, os.O_RDONLY))
        elif place.is_dir():
            print([entry.name for entry in place.iterdir()])
        else:
            sys.stdout.buffer.write(place.read_bytes())
    except PermissionError:
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
