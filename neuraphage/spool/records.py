"""The files of one entry of the spool, and the order that a runner is given.

Standard library only, and little of it: the runner imports this file, and must start fast and stay small.
"""

from __future__ import annotations

import fcntl
import os
import time

TYPE_CHECKING = False  # type checkers know this name; importing typing would double the start of a runner
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALIVE = "alive"
"""Its flock is held while the command or anything below it may live. Its text tells who holds it and since when."""
DECISION = "decision"
"""`started` or `sealed`, whoever linked it first; never changed."""
STARTED = "started"
SEALED = "sealed"
OUTPUT = "output"
EXIT = "exit.json"
CANCEL = "cancel"
"""Its presence asks the runner to end the command: a person cancelled."""
REVOKED = "revoked"
"""Its presence asks the runner to end the command: the task's lease has moved to another host."""

BUSY = "busy"
"""A runner's answer: another one is at work. The other answers are STARTED, DECIDED and UNREADY."""
DECIDED = "decided"
"""A runner's answer: somebody had decided before."""
UNREADY = "unready"
"""A runner's answer, and why: what was to be made around the command could not be. Nothing was decided."""

_RESERVE_BYTES = 4096
"""Space for the exit record, taken before the start: a full disk must not lose the outcome."""


class Order:
    """What a runner is to run: NUL-separated bytes, which no encoding can change.

    Neither a path nor an argument can hold a NUL. JSON would double the runner's start-up time.
    """

    def __init__(self, packed: bytes) -> None:
        entry, cwd, timeout_s, max_output_bytes, *rest = packed.split(b"\0")
        gate, cgroup, memory_bytes, processes, kept, count, *rest = rest
        self.entry = entry
        self.cwd = cwd
        self.timeout_s = float(timeout_s)
        self.max_output_bytes = int(max_output_bytes)
        self.gate = tuple(map(int, gate.split()))
        self.cgroup = (cgroup, int(memory_bytes), int(processes))
        self.kept, rest = rest[: int(kept)], rest[int(kept) :]
        self.argv = rest[: int(count)]
        self.env: dict[bytes, bytes] = {}
        for pair in rest[int(count) :]:
            name, _, value = pair.partition(b"=")
            self.env[name] = value


def pack_order(
    *,
    entry: str,
    cwd: str,
    timeout_s: float,
    max_output_bytes: int,
    argv: Sequence[str],
    env: Mapping[str, str],
    kept: Sequence[str] = (),
    cgroup: tuple[str, int, int] = ("", 0, 0),
    gate: Sequence[int] = (),
) -> bytes:
    """Write an order, as `Order` reads it."""
    fields = [entry, cwd, repr(timeout_s), str(max_output_bytes), " ".join(map(str, gate)), *map(str, cgroup)]
    fields += [str(len(kept)), str(len(argv)), *kept, *argv]
    fields += [f"{name}={value}" for name, value in env.items()]
    return b"\0".join(os.fsencode(field) for field in fields)


def lock_alive(directory: int) -> int | None:
    """Take the lock that shows life.

    Returns:
        The open file that holds the lock, or None when another runner holds it.
    """
    alive = open_private(directory, ALIVE, os.O_RDWR)
    for _ in range(5):
        try:
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.002)  # an observer holds it shared for microseconds, see is_alive
        else:
            return alive
    os.close(alive)
    return None


def is_alive(directory: int) -> bool:
    """Whether a runner holds the lock. Observers lock it shared, so they never mistake each other for one."""
    try:
        alive = os.open(ALIVE, os.O_RDONLY, dir_fd=directory)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(alive, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(alive, fcntl.LOCK_UN)  # closing is not enough if this process forked meanwhile
    except BlockingIOError:
        return True
    finally:
        os.close(alive)
    return False


def read_decision(directory: int) -> str | None:
    """What was decided: started, sealed, or None.

    A decision that cannot be understood counts as started: nobody may assume that the command never ran.
    """
    try:
        decision = os.open(DECISION, os.O_RDONLY, dir_fd=directory)
    except FileNotFoundError:
        return None
    try:
        return SEALED if os.read(decision, 64) == SEALED.encode() else STARTED
    finally:
        os.close(decision)


def decide(directory: int, word: str) -> bool:
    """Decide for ever whether the command starts.

    Returns:
        Whether this call decided; False when the decision had been taken before.
    """
    return write_once(directory, DECISION, word.encode())


def write_once(directory: int, name: str, content: bytes) -> bool:
    """Write a file unless there is one. A link carries its content, so no reader finds it empty.

    Returns:
        Whether this call wrote it; its content and name are on the disk then.
    """
    if exists(directory, name):
        return False  # before anything is written: a full disk must not stand in the way of a cancel
    temporary = f"{name}.{os.urandom(8).hex()}"
    try:
        write_file(directory, temporary, content)
        os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except FileExistsError:
        return False
    finally:
        if exists(directory, temporary):
            os.unlink(temporary, dir_fd=directory)
    os.fsync(directory)
    return True


def open_private(directory: int, name: str, flags: int) -> int:
    """Open a file of an entry, made if it is not there; the umask, which is the command's, takes no right of ours."""
    file = os.open(name, flags | os.O_CREAT, 0o600, dir_fd=directory)
    os.fchmod(file, 0o600)
    return file


def write_file(directory: int, name: str, content: bytes) -> None:
    """Write a new file and wait until it is on the disk."""
    file = open_private(directory, name, os.O_WRONLY | os.O_EXCL)
    try:
        while content:
            content = content[os.write(file, content) :]
        os.fsync(file)
    finally:
        os.close(file)


def exists(directory: int, name: str) -> bool:
    """Whether a file of this name is in the entry."""
    try:
        os.stat(name, dir_fd=directory)
    except FileNotFoundError:
        return False
    return True


def moment() -> str:
    """This boot and the seconds since then, as one word: a clock that is set moves neither. Empty outside Linux."""
    try:
        file = os.open("/proc/sys/kernel/random/boot_id", os.O_RDONLY)
    except OSError:
        return ""
    try:
        return f"{os.read(file, 64).decode().strip()}@{time.clock_gettime(time.CLOCK_BOOTTIME):.0f}"
    finally:
        os.close(file)


class ExitRecord:
    """The file `exit.json`. Its space is taken at once; its content and its name come at the end."""

    def __init__(self, directory: int) -> None:
        self._directory = directory
        self._file = open_private(directory, f"{EXIT}.new", os.O_WRONLY | os.O_TRUNC)
        os.write(self._file, b" " * _RESERVE_BYTES)
        os.fsync(self._file)
        self._started_at = time.time()
        self._began_s = time.monotonic()

    def write(self, *, exit_code: int | None, reason: str, detail: str, left_behind: int, survivors: int) -> None:
        """Write how it ended, durably. Every value is a number or a fixed phrase, so no encoder is needed.

        Args:
            exit_code: exit status, or minus the signal number; None when the command could not be killed.
            reason: exited, timeout, cancelled, output_limit, memory_limit or lease_moved.
            detail: a fixed phrase for people, or empty.
            left_behind: processes that were still there when the command had ended, and were ended too.
            survivors: processes that did not die (stuck in the kernel, or of another user).
        """
        text = (
            f'{{"exit_code": {"null" if exit_code is None else exit_code}, "reason": "{reason}",'
            f' "detail": "{detail}", "started_at": {self._started_at:.3f}, "ended_at": {time.time():.3f},'
            f' "duration_s": {time.monotonic() - self._began_s:.3f},'
            f' "left_behind": {left_behind}, "survivors": {survivors}}}\n'
        ).encode()
        os.pwrite(self._file, text, 0)
        os.ftruncate(self._file, len(text))
        os.fsync(self._file)
        os.rename(f"{EXIT}.new", EXIT, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        os.fsync(self._directory)
