"""Run a command in a session of its own, which may die with its parent. A script, with the standard library only.

    python -I -S tether.py <pid of the parent> <tied or free> <program> [argument ...]

The kernel is asked (Linux) to kill this process when its parent ends, however that ends; then the program takes this
process over, with the same process id. Asking between fork and exec would not be safe in a parent with threads. Where
the kernel cannot do this (macOS), the program simply runs.

A free program outlives its parent, but does not begin after the parent's end: until it has begun nobody can find it,
and whoever starts next would start another one, on the same data.

Whoever starts this holds the signals of a terminal back (neuraphage.proc.own_session): what the parent's terminal sent
before this process had its own session is forgotten here, and from here on they are heard.
"""

import os
import signal
import sys

TYPE_CHECKING = False  # type checkers know this name
if TYPE_CHECKING or __package__:
    from neuraphage.proc import kernel_ties
else:
    # run by path, outside the package: importing the package would load the whole library
    _PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is heavy
    sys.path.append(os.path.join(_PACKAGE, "proc"))  # noqa: PTH118 - likewise
    import kernel_ties


def let_terminal_signals_through() -> None:
    """Forget those that came. One that the parent ignored, as under nohup, stays ignored."""
    held = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP)
    heard = [number for number in held if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, held)
    for number in heard:
        signal.signal(number, signal.SIG_DFL)


def main() -> None:
    """Tie this process to its parent and become the program."""
    let_terminal_signals_through()
    parent_pid, is_tied, argv = int(sys.argv[1]), sys.argv[2] == "tied", sys.argv[3:]
    if sys.platform == "linux":
        kernel_ties.end_with_parent(signal.SIGKILL)
        if os.getppid() != parent_pid:
            sys.exit("the parent ended before its child began")
        if not is_tied:
            kernel_ties.end_with_parent(0)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - the supervisor's own command line, no shell
    except OSError as error:
        sys.exit(f"start {argv[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
