"""The process between a worker and its unspooled command: it ends the command's whole tree, always.

Started by path with `-I -S`; standard library only. Its stdin is a pipe that the worker holds open: when the
pipe closes (the worker asks for the end, or was killed), the command and every process it left are ended.
It adopts orphans (Linux), so a process that left its group is found too. Its one line of JSON on the status
descriptor says how the command ended.

Arguments: status descriptor, timeout in seconds, grace in seconds, then the command's argv.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__:
    from neuraphage.proc import kernel_ties
else:
    # run by path, outside the package: importing the package would load the whole library
    sys.path.append(str(Path(__file__).parent.parent / "proc"))
    import kernel_ties

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP)
_POLL_S = 0.02
_KILL_LIMIT_S = 10.0  # a process in uninterruptible sleep can outlast even SIGKILL


def start(argv: list[str]) -> int:
    """Start the command in a process group of its own, with nothing on stdin.

    Returns:
        Its pid.
    """
    guard_pid = os.getpid()
    pid = os.fork()
    if pid:
        with contextlib.suppress(OSError):  # the child does it too; whoever comes first
            os.setpgid(pid, pid)
        return pid
    try:
        os.setpgid(0, 0)
        kernel_ties.end_with_parent(signal.SIGKILL)
        if os.getppid() != guard_pid:
            os._exit(1)
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        for number in (signal.SIGPIPE, *_IGNORED):
            signal.signal(number, signal.SIG_DFL)  # ignored here, and that would be inherited
        os.execvpe(argv[0], argv, os.environ)  # noqa: S606 - no shell: argv comes as it is
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def descendants() -> set[int]:
    """Living processes below this one, zombies left out."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir() if Path("/proc/self/stat").exists() else ():
        with contextlib.suppress(OSError, ValueError, IndexError):
            if entry.name.isdigit():
                # The name in parentheses may hold anything, so the fields are counted from its end.
                state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
                if state not in {b"Z", b"X"}:
                    children.setdefault(int(parent), []).append(int(entry.name))
    found: set[int] = set()
    todo = [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        todo += [pid for pid in below if pid not in found]
        found.update(below)
    return found


def reap(pid: int) -> int | None:
    """Take the status of the command if it has ended."""
    done, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def watch(pid: int, timeout_s: float) -> tuple[str, int | None]:
    """Wait for the command's end, the time limit, or the end of the worker's pipe.

    Returns:
        exited, timeout or cancelled; the exit status when it has ended by itself.
    """
    deadline = time.monotonic() + timeout_s
    readers = [0]
    with contextlib.suppress(AttributeError, OSError):
        readers.append(os.pidfd_open(pid))
    while True:
        if (status := reap(pid)) is not None:
            return "exited", status
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return "timeout", None
        ready, _, _ = select.select(readers, [], [], left_s if len(readers) > 1 else min(left_s, _POLL_S))
        if 0 in ready:
            # Bytes are never sent: readable means closed. An end by itself at the same moment counts.
            status = reap(pid)
            return ("exited", status) if status is not None else ("cancelled", None)


def send(pids: set[int], group: int, number: int) -> None:
    """Signal processes; where they cannot be listed (no /proc), the command's group."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)  # a stopped process takes no polite signal
    if sys.platform != "linux":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def end_all(pid: int, status: int | None, grace_s: float) -> int | None:
    """End the command's group and whatever it left: first politely, then by force.

    Returns:
        The command's exit status; None when it could not be ended.
    """
    started = time.monotonic()
    polite = True
    while True:
        with contextlib.suppress(ChildProcessError):
            if status is None:
                status = reap(pid)
            while status is not None and os.waitpid(-1, os.WNOHANG)[0]:
                pass  # adopted orphans
        left = descendants() | ({pid} if status is None else set())
        passed_s = time.monotonic() - started
        if not left or passed_s > grace_s + _KILL_LIMIT_S:
            return status
        force = passed_s >= grace_s
        if polite or force:
            send(left, pid, signal.SIGKILL if force else signal.SIGTERM)
        polite = False
        time.sleep(_POLL_S)


def main() -> None:
    """Start, watch, end, report."""
    report_fd, timeout_s, grace_s = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    os.set_inheritable(report_fd, False)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)  # only the pipe ends it, so that nothing is left behind
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # what the worker's terminal sent on the way is forgotten
    kernel_ties.adopt_orphans()
    pid = start(sys.argv[4:])
    reason, status = watch(pid, timeout_s)
    left_behind = len(descendants()) if reason == "exited" else 0
    status = end_all(pid, status, grace_s)
    with contextlib.suppress(OSError):
        os.write(report_fd, json.dumps({"reason": reason, "exit_code": status, "left_behind": left_behind}).encode())


if __name__ == "__main__":
    main()
