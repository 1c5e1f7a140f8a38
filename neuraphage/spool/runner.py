"""The program that runs one command and outlives the worker which started it.

Started as `python -I -S runner.py` with an order (records.Order) on standard input. It answers with one word on
standard output: started, decided (somebody had decided before), busy (another runner is at work) or unready (what was
to be made around the command could not be, and why). Anything else is the text of an error. With all but the first,
this runner has started nothing.

Two processes do the work. The *keeper* only waits for the *runner*; the runner is the command's parent. Both
adopt orphans and share the lock on `alive`. When the runner is killed, the keeper ends whatever it left; when
the keeper is killed, the runner goes on. So a free lock means that nothing of the command lives, unless both
were killed at one instant (then the command itself dies with the runner, but not what it had started).
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time

TYPE_CHECKING = False  # type checkers know this name; importing typing would double the start of a runner
if TYPE_CHECKING:
    from collections.abc import Callable

    from neuraphage.proc import kernel_ties
    from neuraphage.spool import command_cgroup, gate, kept_files, output_pipe, processes, records
else:
    # run by path, outside the package: importing the package would load the whole library
    _HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib doubles the start
    sys.path += [_HERE, os.path.join(os.path.dirname(_HERE), "proc")]  # noqa: PTH118, PTH120 - likewise
    import command_cgroup
    import gate
    import kept_files
    import kernel_ties
    import output_pipe
    import processes
    import records

POLL_S = 0.05
SAID_BYTES = 1000
DISK_FLOOR_BYTES = 1024 * 1024
"""Less free space than this counts as a full disk."""


def main() -> None:
    """Carry out the order on standard input."""
    kernel_ties.hide_memory()  # from the command, which is of the same user: where its entry is, and its orders
    order = records.Order(sys.stdin.buffer.read())
    point_to_null(0)  # the command inherits it, and must not find the order there
    directory = os.open(order.entry, os.O_RDONLY | os.O_DIRECTORY)
    alive = records.lock_alive(directory)
    if alive is None:
        answer(records.BUSY)
    # only the holder of the lock can decide for `started`, so from here on the entry's files are this one's
    elif records.read_decision(directory) is not None:
        answer(records.DECIDED)
    else:
        processes.shield()
        kernel_ties.adopt_orphans()
        kept, group = kept_files.KeptFiles(order.kept, order.cwd), command_cgroup.CommandGroup(*order.cgroup)
        runner = os.fork()
        if runner == 0:
            run(order, directory, alive, kept, group)
        else:
            keep(runner, kept, group)


def answer(word: str) -> None:
    """Tell the starter, who may be dead already, and let go of its pipe."""
    try:  # noqa: SIM105 - importing contextlib would lengthen every start of a runner
        os.write(1, f"{word}\n".encode())
    except BrokenPipeError:
        pass
    let_go()


def let_go() -> None:
    """Close the pipe to the starter, who waits for that."""
    point_to_null(1)
    point_to_null(2)


def point_to_null(standard: int) -> None:
    """Replace one of the standard files by /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, standard)
    os.close(null)


def keep(runner: int, kept: kept_files.KeptFiles, group: command_cgroup.CommandGroup) -> None:
    """Wait for the runner; then end whatever it left behind, which is nothing unless it was killed."""
    let_go()
    while os.WIFSTOPPED(status := os.waitpid(runner, os.WUNTRACED)[1]):
        os.kill(runner, signal.SIGCONT)  # by the command, which would then run without limit
    family = processes.Family(runner)
    family.exit_code = 0  # reaped above
    wake = processes.wake_on_child_end()
    family.end(0.0, lambda pause_s: processes.wait_for_child_end(wake, pause_s))
    if status != 0:
        kept.put_back()
        group.remove()


def run(
    order: records.Order, directory: int, alive: int, kept: kept_files.KeptFiles, group: command_cgroup.CommandGroup
) -> None:
    """Decide, start the command, wait for its end, record it."""
    kernel_ties.adopt_orphans()
    os.setsid()  # a signal to the keeper's group must not reach both
    os.write(alive, f"runner {os.getpid()} keeper {os.getppid()} at {records.moment()}\n".encode())
    wake = processes.wake_on_child_end()
    output = records.open_private(directory, records.OUTPUT, os.O_RDWR | os.O_TRUNC | os.O_APPEND)
    before = gate.Gate(order.gate)
    asked = requests_to_end(directory)
    # everything that can fail for want of space or processes comes before the decision
    record = records.ExitRecord(directory)
    if disk_is_full(directory):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    pipe = output_pipe.OutputPipe(output, order.max_output_bytes)
    group.make()
    child = os.fork()
    if child == 0:
        before.shut()
        processes.become_command(order, pipe.writing, before, group)
    pipe.let_go()
    before.keep_own_side()
    family = processes.Family(child)
    stands = wait_until_it_stands(directory, before, family, pipe, wake)
    if not (stands and decide_to_start(directory)):
        family.end(0.0, lambda pause_s: pipe.wait(wake, pause_s))
        pipe.take_rest()
        group.remove()
        answer(records.DECIDED if stands else f"{records.UNREADY} {said_last(output)}")
        return
    before.open()
    answer(records.STARTED)
    reason, detail = supervise(order, family, asked, pipe, wake)
    family.end(processes.GRACE_S, lambda pause_s: pipe.wait(wake, pause_s))
    pipe.take_rest()
    if reason == "exited" and pipe.is_full:
        reason, detail = full(pipe)
    if reason == "exited":
        limit, hindered = group.limit_reached()
        reason, detail = limit or reason, hindered
    group.remove()
    if changed := kept.put_back():
        detail = f"{detail}; {changed}" if detail else changed
    record.write(
        exit_code=family.exit_code,
        reason=reason,
        detail=detail,
        left_behind=family.left_behind,
        survivors=family.survivors,
    )


def wait_until_it_stands(
    directory: int, before: gate.Gate, family: processes.Family, pipe: output_pipe.OutputPipe, wake: int
) -> bool:
    """Wait until all is made around the command, or somebody decides that it is not to begin.

    Returns:
        False when what was to make it has ended instead.
    """
    while not before.wait(wake, POLL_S):
        if records.read_decision(directory) is not None:
            return True
        pipe.take_rest()  # or what it says would hold it up
        family.reap()
        if family.exit_code is not None:
            return False
    return True


def said_last(output: int) -> str:
    """The last line of an output, for people."""
    tail = os.pread(output, SAID_BYTES, max(0, os.fstat(output).st_size - SAID_BYTES))
    lines = tail.decode(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")


def decide_to_start(directory: int) -> bool:
    """Decide for `started`, unless somebody sealed the entry or asked for its end first."""
    if records.exists(directory, records.CANCEL) or records.exists(directory, records.REVOKED):
        records.decide(directory, records.SEALED)
        return False
    return records.decide(directory, records.STARTED)


def supervise(
    order: records.Order, family: processes.Family, asked: Callable[[], str], pipe: output_pipe.OutputPipe, wake: int
) -> tuple[str, str]:
    """Wait until the command ends or must be ended.

    Args:
        order: with its time limit.
        family: the command and what it starts.
        asked: from `requests_to_end`.
        pipe: its output.
        wake: from processes.wake_on_child_end.

    Returns:
        The reason, and a detail for people.
    """
    # monotonic: the time a laptop sleeps does not count
    deadline_s = time.monotonic() + order.timeout_s
    while True:
        family.reap()
        if family.exit_code is not None:
            return "exited", ""
        reason = asked()
        if reason:
            return reason, ""
        if pipe.is_full or disk_is_full(pipe.output):
            return full(pipe)
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            return "timeout", ""
        pipe.wait(wake, min(left_s, POLL_S))


def requests_to_end(directory: int) -> Callable[[], str]:
    """A look for what asks for the command's end: its reason, or nothing.

    A deleted entry asks for it: nobody can read its command, or cancel it, any more. Make the look before the
    decision: it counts the entry's names now, and one that is deleted by then cannot be decided.
    """
    has_names = os.fstat(directory).st_nlink > 0  # there are filesystems that do not count them

    def look() -> str:
        is_deleted = has_names and os.fstat(directory).st_nlink == 0
        if is_deleted or records.exists(directory, records.CANCEL):
            return "cancelled"
        return "lease_moved" if records.exists(directory, records.REVOKED) else ""

    return look


def full(pipe: output_pipe.OutputPipe) -> tuple[str, str]:
    """Reason and detail of a command whose output is not kept whole."""
    return "output_limit", "" if pipe.is_over else "the disk of the spool is full"


def disk_is_full(file: int) -> bool:
    """Whether the disk of an open file takes no more output."""
    space = os.fstatvfs(file)
    if space.f_blocks == 0:
        return False  # a filesystem that does not count its space
    return space.f_bavail * space.f_frsize < DISK_FLOOR_BYTES


if __name__ == "__main__":
    main()
