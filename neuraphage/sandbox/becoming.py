"""How a program of the sandbox becomes the command, or says why it does not. Standard library only, see bridge.py."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # type checkers know this name; importing typing would double the start
if TYPE_CHECKING:
    import signal as _signal
    from typing import NoReturn
else:
    import _signal  # what is below `signal`, which takes longer to import than all the rest here

NOT_FOUND, NOT_RUNNABLE = 127, 126
"""Exit codes of a command that is not there, and of one that cannot be run, as shells have them."""


def become(argv: list[str]) -> NoReturn:
    """Turn this process into the command."""
    for signum in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores them, and ignored ones stay so
        _signal.signal(signum, _signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - no shell: argv as it was given
    except (OSError, ValueError) as error:
        end(f"run {argv[0]!r}", error, NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE)


def end(step: str, error: Exception, code: int = NOT_RUNNABLE) -> NoReturn:
    """Say why the command does not run, and exit."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    os.write(2, f"neuraphage: cannot {step}: {reason}\n".encode(errors="replace"))
    os._exit(code)
