"""How a command and all that is below it is ended, with processes that a test makes up and a clock that it sets."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from neuraphage.proc import kernel_ties
from neuraphage.spool import processes
from neuraphage.spool.processes import GRACE_S, KILL_LIMIT_S, Family
from turnkit import until

ME, COMMAND = 1, 10
TERM, KILL = signal.SIGTERM, signal.SIGKILL


@dataclass
class Process:
    """One made-up process.

    Args:
        parent: its parent.
        group: its process group.
        heeds: the signals that end it.
        is_foreign: it belongs to another user.
        code: its exit status, once it has ended.
        got: the signals it got, with the seconds since the start.
    """

    parent: int = ME
    group: int = COMMAND
    heeds: tuple[int, ...] = (TERM, KILL)
    is_foreign: bool = False
    code: int | None = None
    got: list[tuple[int, float]] = field(default_factory=list)

    @property
    def signals(self) -> list[int]:
        return [signum for signum, _ in self.got]


class Machine:
    """A kernel with the runner, which adopts orphans, and the processes below it.

    Attributes:
        table: all that have not been reaped.
        waits: how long the runner waited each time.
        each: called after each wait.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_linux: bool = True) -> None:
        self.now_s = 100.0
        self.table = {COMMAND: Process()}
        self.waits: list[float] = []
        self.groups_asked: list[int] = []
        self.each: Callable[[], None] = lambda: None
        self.ended: dict[int, Process] = {}
        system = SimpleNamespace(
            WNOHANG=os.WNOHANG,
            waitstatus_to_exitcode=lambda code: code,
            waitpid=self._waitpid,
            kill=self._kill,
            killpg=self._killpg,
        )
        monkeypatch.setattr(processes, "os", system)
        monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: self.now_s))
        monkeypatch.setattr(processes, "LINUX", is_linux)
        monkeypatch.setattr(processes, "_own_children", self._children if is_linux else list)
        monkeypatch.setattr(processes, "_is_ending_sandbox", lambda _: False)
        self.family = Family(COMMAND)

    def end(self) -> None:
        self.family.end(GRACE_S, self._wait)

    def exits(self, pid: int, code: int = 0) -> None:
        """It ends by itself; its children become the runner's."""
        self.table[pid].code = code
        for process in self.table.values():
            if process.parent == pid:
                process.parent = ME

    def _children(self) -> list[int]:
        return [pid for pid, process in self.table.items() if process.parent == ME and process.code is None]

    def _wait(self, seconds_s: float) -> None:
        self.waits.append(seconds_s)
        self.now_s += seconds_s
        self.each()

    def _waitpid(self, which: int, _: int) -> tuple[int, int]:
        assert which == -1
        mine = {pid: process for pid, process in self.table.items() if process.parent == ME}
        if not mine:
            raise ChildProcessError
        for pid, process in mine.items():
            if process.code is not None:
                self.ended[pid] = self.table.pop(pid)
                return pid, process.code
        return 0, 0

    def _kill(self, pid: int, signum: int) -> None:
        process = self.table.get(pid)
        if process is None:
            raise ProcessLookupError
        if process.is_foreign:
            raise PermissionError
        process.got.append((signum, round(self.now_s - 100.0, 3)))
        if process.code is None and signum in process.heeds:
            self.exits(pid, -signum)

    def _killpg(self, group: int, signum: int) -> None:
        self.groups_asked.append(group)
        found = [pid for pid, process in self.table.items() if process.group == group]
        if not found:
            raise ProcessLookupError
        allowed = [pid for pid in found if not self.table[pid].is_foreign]
        if not allowed:
            raise PermissionError
        for pid in allowed if signum else []:
            self._kill(pid, signum)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A command that runs, on Linux."""
    return Machine(monkeypatch)


def test_the_code_is_that_of_the_command(machine: Machine) -> None:
    """Whatever else ends before it or after it."""
    machine.table |= {20: Process(code=3), 21: Process()}
    machine.family.reap()
    assert machine.family.exit_code is None
    machine.exits(COMMAND, 7)
    machine.family.reap()
    machine.exits(21, 4)
    machine.end()
    assert (machine.family.exit_code, machine.table) == (7, {})


def test_who_heeds_is_asked_once_and_never_killed(machine: Machine) -> None:
    """A second SIGTERM would cut off what cleans up: none comes however long that takes, as long as there is time."""
    machine.table |= {20: Process(heeds=()), 21: Process(parent=20, group=20, heeds=())}
    machine.table[COMMAND].heeds = ()

    def clean_up() -> None:
        if machine.now_s >= 100.0 + GRACE_S / 2:
            for pid in (COMMAND, 20, 21):
                if pid in machine.table:
                    machine.exits(pid)

    machine.each = clean_up
    command, other, deeper = machine.table[COMMAND], machine.table[20], machine.table[21]
    machine.end()
    assert set(command.signals) | set(other.signals) | set(deeper.signals) == {TERM}
    assert machine.groups_asked == [COMMAND]
    assert len(deeper.signals) <= 1
    assert {when for _, when in command.got} == {0.0}
    assert (machine.family.exit_code, machine.family.survivors) == (0, 0)


def test_who_does_not_heed_is_killed_after_the_grace(machine: Machine) -> None:
    """With all below it, however deep; each counts once as left behind, the command not at all."""
    machine.table[COMMAND].heeds = (KILL,)
    machine.table |= {
        20: Process(parent=COMMAND, group=20, heeds=(KILL,)),
        21: Process(parent=20, group=21, heeds=(KILL,)),
        22: Process(group=22, heeds=(KILL,)),
    }
    everyone = dict(machine.table)
    machine.end()
    assert machine.table == {}
    for pid, process in everyone.items():
        killed = [when for signum, when in process.got if signum == KILL]
        assert killed, pid
        assert killed[0] >= GRACE_S
    assert everyone[22].signals[:1] == [TERM]
    assert machine.family.left_behind == 3
    assert machine.family.exit_code == -KILL


def test_nothing_is_ended_where_nothing_is_left(machine: Machine) -> None:
    """The command has ended, with all that it started: no signal, no wait."""
    machine.exits(COMMAND, 3)
    machine.end()
    family = machine.family
    assert (family.exit_code, family.left_behind, machine.waits, machine.groups_asked) == (3, 0, [], [])


def test_a_group_whose_leader_was_reaped_is_left_alone(machine: Machine) -> None:
    """Its number may be another's by now; what the command left is a child of the runner, and is ended as one."""
    machine.table[20] = Process(group=20)
    left = machine.table[20]
    machine.exits(COMMAND)
    machine.table[30] = Process(parent=2, group=COMMAND)
    machine.end()
    assert (left.signals, machine.table[30].signals, machine.groups_asked) == ([TERM], [], [])
    assert machine.family.left_behind == 1


def test_a_number_that_is_used_again_is_another_process(machine: Machine) -> None:
    """It is asked to end and counted, although one of that number had been."""
    machine.table[COMMAND].heeds = (KILL,)
    machine.table[20] = Process(group=20)
    born: list[Process] = []

    def again() -> None:
        if 20 in machine.ended and not born:
            born.append(Process(group=20))
            machine.table[20] = born[0]

    machine.each = again
    machine.end()
    assert born[0].signals == [TERM]
    assert machine.family.left_behind == 2


@pytest.mark.parametrize("visible", [True, False])
def test_what_cannot_be_ended_is_told_after_a_while(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, visible: bool
) -> None:
    """Stuck in the kernel, or of another user: the wait has an end, and at least one is counted."""
    machine.table[COMMAND].heeds = ()
    machine.table |= {20: Process(group=20, is_foreign=True), 21: Process(group=21, heeds=())}
    if not visible:
        monkeypatch.setattr(processes, "_own_children", list)
    machine.end()
    assert GRACE_S + KILL_LIMIT_S <= machine.now_s - 100.0 <= GRACE_S + KILL_LIMIT_S + 1
    assert machine.family.survivors == (3 if visible else 1)
    assert machine.family.exit_code is None


def test_a_process_of_another_user_keeps_no_other(machine: Machine) -> None:
    """A command that gave its own rights up cannot be asked, and all the others are."""
    machine.table[COMMAND].is_foreign = True
    machine.table[20] = Process(group=20)
    other = machine.table[20]
    machine.each = lambda: machine.exits(COMMAND) if machine.now_s > 101.0 and COMMAND in machine.table else None
    machine.end()
    assert other.signals == [TERM]
    assert machine.table == {}


def test_a_process_that_goes_between_look_and_signal_is_gone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """No error, and it is looked for again."""
    looks = [[COMMAND, 99], [COMMAND]]
    monkeypatch.setattr(processes, "_own_children", lambda: looks.pop(0) if looks else [])
    machine.table[COMMAND].group = 77  # it has not made its group yet
    machine.end()
    assert machine.family.exit_code == -TERM


def test_waits_grow_to_a_twentieth_of_a_second(machine: Machine) -> None:
    """A short end is seen at once, and a long one costs no processor."""
    machine.table[COMMAND].heeds = (KILL,)
    machine.end()
    assert machine.waits[:5] == [0.005, 0.01, 0.02, 0.04, 0.05]
    assert set(machine.waits[4:]) == {0.05}


@pytest.mark.parametrize("is_foreign", [False, True])
def test_elsewhere_the_group_of_the_command_is_ended(monkeypatch: pytest.MonkeyPatch, is_foreign: bool) -> None:
    """A system that tells of no children: all of the group must be gone, the command's own end is not enough."""
    machine = Machine(monkeypatch, is_linux=False)
    machine.table |= {20: Process(parent=COMMAND, heeds=(KILL,), is_foreign=is_foreign)}
    member = machine.table[20]
    machine.end()
    assert machine.family.exit_code == -TERM
    if is_foreign:
        assert machine.family.survivors == 1, "it cannot be asked, and it is there"
    else:
        assert (member.signals[-1], machine.family.survivors, 20 in machine.table) == (KILL, 0, False)


def test_elsewhere_a_command_that_has_no_group_yet_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its fork and its own session only its number reaches it."""
    machine = Machine(monkeypatch, is_linux=False)
    machine.table[COMMAND].group = 77
    machine.end()
    assert machine.family.exit_code == -TERM
    assert machine.family.left_behind == 0


# --- what the system itself says ---


@pytest.mark.skipif(not processes.LINUX, reason="elsewhere no children are known")
def test_own_children_are_those_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what has ended, nor what is below them; one that goes while it is looked at is passed over."""
    listed, opened = os.listdir, os.open
    gone = {"2147483646": None, "2147483645": "/dev/null", "2147483644": "/proc/self/mem"}
    runs = subprocess.Popen(["sleep", "600"])
    parent = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    ended = subprocess.Popen(["true"])
    assert parent.stdout is not None
    below = int(parent.stdout.readline())
    try:
        until(lambda: b") Z " in Path(f"/proc/{ended.pid}/stat").read_bytes())
        monkeypatch.setattr(os, "listdir", lambda path: [*gone, "self", *listed(path)])
        monkeypatch.setattr(os, "open", lambda path, flags: opened(gone.get(path.split("/")[2]) or path, flags))
        files = len(listed("/dev/fd"))
        found = processes._own_children()
        assert len(listed("/dev/fd")) == files
    finally:
        monkeypatch.undo()
        os.kill(below, KILL)
        for process in (runs, parent, ended):
            process.kill()
            process.communicate()
    assert {runs.pid, parent.pid} <= set(found)
    assert not {ended.pid, below, os.getpid()} & set(found)


def test_a_kernel_that_refuses_is_not_taken_for_one_that_did_it() -> None:
    """Without adoption a command would leave processes that nobody ends: then nothing is started."""
    if not processes.LINUX:
        pytest.skip("nothing is asked of the kernel here")
    with pytest.raises(OSError, match=r"prctl\(-1, 0\): Invalid"):
        kernel_ties._prctl(-1, 0)


@pytest.fixture
def wake() -> Iterator[int]:
    """The pipe that tells of a child's end."""
    handler = signal.getsignal(signal.SIGCHLD)
    before = signal.set_wakeup_fd(-1)
    reading = processes.wake_on_child_end()
    writing = signal.set_wakeup_fd(before, warn_on_full_buffer=False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    yield reading
    signal.set_wakeup_fd(before)
    signal.signal(signal.SIGCHLD, handler)
    os.close(reading)
    os.close(writing)


def test_the_end_of_a_child_wakes(wake: int) -> None:
    """Long before the time is over; and what woke is taken, so that the next wait is one."""
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    with subprocess.Popen(["true"]):
        processes.wait_for_child_end(wake, 600.0)
    assert poll.poll(0) == []
    processes.wait_for_child_end(wake, 0.001)  # nobody ends: no longer than that
