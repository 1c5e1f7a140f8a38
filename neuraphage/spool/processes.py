"""Becoming the command, and ending it with everything below it. Standard library only, see runner.py."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # type checkers know this name; importing typing would double the start of a runner
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from neuraphage.proc import kernel_ties
    from neuraphage.spool.command_cgroup import CommandGroup
    from neuraphage.spool.gate import Gate
    from neuraphage.spool.records import Order
elif __package__:
    from neuraphage.proc import kernel_ties
else:
    import kernel_ties  # runner.py has made its folder known

LINUX = sys.platform == "linux"
GRACE_S = 2.0
"""From SIGTERM to SIGKILL."""
KILL_LIMIT_S = 30.0
"""Longest wait for killed processes to be gone: one that is stuck in the kernel may take for ever."""

_FIRST_POLL_S = 0.005
_LAST_POLL_S = 0.05
_NOT_FOUND = 127
_NOT_RUNNABLE = 126
_IGNORED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTSTP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGTERM,
)


def shield() -> None:
    """Outlive a terminal's hang-up, a shutdown's first signal, and what a command tells its parent."""
    for signum in _IGNORED:
        signal.signal(signum, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def wake_on_child_end() -> int:
    """Have the kernel write to a pipe whenever a child ends; returns its reading end."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)
    return reading


def wait_for_child_end(wake: int, timeout_s: float) -> None:
    """Return when a child has ended, or after the timeout."""
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    if poll.poll(round(timeout_s * 1000)):
        os.read(wake, 4096)


def become_command(order: Order, output: int, gate: Gate, group: CommandGroup) -> NoReturn:
    """Turn this freshly forked process into the command, once its gate is open or in its command line's hands.

    What keeps it from starting is written to its output; it then exits as a shell would (127, 126).
    """
    code = _NOT_RUNNABLE
    step = "prepare"
    try:
        os.setsid()
        kernel_ties.end_with_parent(signal.SIGKILL)
        # Python ignores some, and so does a shell for what it starts with &; a command expects what the kernel set
        for signum in range(1, signal.NSIG):
            if signal.getsignal(signum) not in (signal.SIG_DFL, None):
                signal.signal(signum, signal.SIG_DFL)
        step = "join its control group"
        group.join()
        step = "prepare"
        if not (gate.is_inside or gate.is_opened()):
            os._exit(0)  # sealed, or the runner has died
        os.dup2(output, 1)
        os.dup2(output, 2)
        output = 2  # its own number may be wanted for another file
        step = f"enter the working directory {os.fsdecode(order.cwd)!r}"
        os.chdir(order.cwd)
        step = f"run {os.fsdecode(order.argv[0])!r}"
        gate.hand_over()
        os.execvpe(order.argv[0], order.argv, order.env)  # noqa: S606 - no shell: argv as it was given
    except BaseException as error:  # noqa: BLE001 - a forked child must never return into its parent's code
        if isinstance(error, FileNotFoundError):
            code = _NOT_FOUND
        reason = error.strerror if isinstance(error, OSError) else repr(error)
        os.write(output, f"neuraphage: cannot {step}: {reason}\n".encode(errors="replace"))
    finally:
        os._exit(code)


class Family:
    """A child, and every process below it.

    Only own children are ever signalled one by one: their ids cannot be used again before this process has
    reaped them. Deeper ones become own children when their parent dies, because this process is a subreaper.
    So "no child left" means that nothing is left (Linux). Elsewhere the child's process group is all there is.

    Attributes:
        exit_code: of the child, or minus the signal number; None while it lives.
        left_behind: processes that had to be ended besides the child.
        survivors: processes that could not be ended in KILL_LIMIT_S.
    """

    def __init__(self, child: int) -> None:
        self._child = child
        self._asked: set[int] = set()
        self._childless = False
        self.exit_code: int | None = None
        self.left_behind = 0
        self.survivors = 0

    def reap(self) -> None:
        """Collect every process that has ended, adopted ones included."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
                self._asked.discard(ended[0])  # its id may be used again from now on
                if ended[0] == self._child:
                    self.exit_code = os.waitstatus_to_exitcode(ended[1])
        except ChildProcessError:
            self._childless = True

    def end(self, grace_s: float, wait: Callable[[float], None]) -> None:
        """End the child and everything below it: SIGTERM, then SIGKILL. Returns when all are gone.

        Args:
            grace_s: seconds between the two signals.
            wait: waits for so many seconds, or less when a child has ended.
        """
        now = time.monotonic()
        kill_at, give_up_at = now + grace_s, now + grace_s + KILL_LIMIT_S
        group_asked = False
        pause_s = _FIRST_POLL_S
        while not self._is_gone():
            now = time.monotonic()
            if now >= give_up_at:
                self.survivors = max(1, len(_own_children()))
                return
            if now >= kill_at:
                self._signal_group(signal.SIGKILL)
                self._signal_children(signal.SIGKILL)
            else:
                if not group_asked:
                    self._signal_group(signal.SIGTERM)
                    group_asked = True
                self._signal_children(signal.SIGTERM)
            wait(pause_s)
            pause_s = min(pause_s * 2, _LAST_POLL_S)

    def _is_gone(self) -> bool:
        self.reap()
        if LINUX:
            return self._childless
        return self.exit_code is not None and not _group_exists(self._child)

    def _signal_group(self, signum: int) -> None:
        if LINUX and self.exit_code is not None:
            return  # reaped: the group's id may be another's; what it left is an own child
        try:  # noqa: SIM105 - importing contextlib would lengthen every start of a runner
            os.killpg(self._child, signum)
        except (ProcessLookupError, PermissionError):
            pass  # it has not made its group yet, or is gone, or belongs to another user: see survivors

    def _signal_children(self, signum: int) -> None:
        children = set(_own_children())
        if self.exit_code is None:
            children.add(self._child)
        for pid in children:
            if signum == signal.SIGTERM and pid in self._asked:
                continue
            if pid != self._child and pid not in self._asked and not _is_ending_sandbox(pid):
                self.left_behind += 1
            self._asked.add(pid)
            try:  # noqa: SIM105 - as above
                os.kill(pid, signum)
            except (ProcessLookupError, PermissionError):
                pass  # as above


def _is_ending_sandbox(pid: int) -> bool:
    """Whether it is what bubblewrap leaves for a moment when its command has ended: no process of the command's."""
    try:
        file = os.open(f"/proc/{pid}/comm", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.read(file, 64) == b"bwrap\n"
    except OSError:
        return False
    finally:
        os.close(file)


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _own_children() -> list[int]:
    """Children of this process that still run, adopted ones included (Linux; elsewhere none are known).

    Reads every process's parent: the kernel's ready list (/proc/.../children) is a build option that some lack.
    """
    if not LINUX:
        return []
    me = str(os.getpid()).encode()
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would lengthen every start of a runner
        if not name.isdigit():
            continue
        try:
            file = os.open(f"/proc/{name}/stat", os.O_RDONLY)
        except OSError:
            continue  # gone meanwhile
        try:
            state, parent = os.read(file, 1024).rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue  # gone between open and read
        finally:
            os.close(file)
        if parent == me and state != b"Z":
            found.append(int(name))
    return found
