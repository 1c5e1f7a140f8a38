"""Commands in real control groups, where this process may make some: what they bound, and what is left of them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_ends import eventually

from neuraphage.model.sandbox import CommandLimits
from neuraphage.sandbox.cgroups import CommandCgroups, cgroup_plan, prepared
from sandboxkit import OUTPUT_CHARS, SandboxedHost

MIB = 1024**2
PLAN = cgroup_plan()
pytestmark = pytest.mark.skipif(PLAN.base is None, reason=f"no control groups for commands: {PLAN.why_not}")


@pytest.fixture
def grouped(host: SandboxedHost) -> Iterator[SandboxedHost]:
    """A host whose commands have groups: 200 MiB and 50 processes."""
    made = prepared(cgroup_plan())
    assert made.base is not None, made.why_none
    host.sandbox.cgroups = made
    host.sandbox._allowed = CommandLimits(200 * MIB, 50, 8 * MIB)
    yield host
    eventually(lambda: left(host) == [])


def left(host: SandboxedHost) -> list[Path]:
    cgroups = host.sandbox.cgroups
    assert isinstance(cgroups, CommandCgroups)
    return list(Path(str(cgroups.base)).glob("neuraphage-command-*"))


def test_a_command_runs_as_ever(grouped: SandboxedHost) -> None:
    """The control; its group is gone with it."""
    status = grouped.run("echo out; exit 3")
    assert (status.exit_code, status.reason, status.output) == (3, "exited", "out\n")
    assert left(grouped) == []


def test_memory_of_all_its_processes_is_bounded(grouped: SandboxedHost) -> None:
    """Of each alone it is below the limit; all are killed, and the result says why."""
    program = f"import time; b = bytearray({60 * MIB}); b[::4096] = b'x' * len(b[::4096]); time.sleep(1000)"
    (grouped.work / "grow.py").write_text(program, encoding="utf-8")
    status = grouped.run(f"for n in 1 2 3 4 5 6; do {sys.executable} grow.py & done; wait; echo over")
    assert (status.reason, "over" in status.output) == ("memory_limit", False)


def test_shared_memory_counts_as_well(grouped: SandboxedHost) -> None:
    """Limits of processes do not see it."""
    line = "for n in $(seq 60); do head -c 8000000 /dev/zero > /dev/shm/$n || break; done; sleep 1000"
    assert grouped.run(line).reason == "memory_limit"


def test_its_processes_are_counted(grouped: SandboxedHost) -> None:
    """Also those of root, whom limits of processes do not bind."""
    program = (
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    for made in range(100):\n"
        "        if os.fork() == 0: time.sleep(1000)\n"
        "except OSError: print(made)\n"
    )
    (grouped.work / "fork.py").write_text(program, encoding="utf-8")
    status = grouped.run(f"{sys.executable} fork.py")
    assert 20 < int(status.output.split()[0]) < 50
    assert "reached its limit of processes" in status.output


def test_it_cannot_raise_its_limits(grouped: SandboxedHost) -> None:
    """Its group is seen, if at all, and read-only."""
    found = "find /sys/fs/cgroup -name memory.max -o -name cgroup.procs"
    line = f"for f in $({found}); do echo max > $f && echo raised; echo 0 > $f && echo moved; done"
    assert grouped.run(f"({line}) 2>/dev/null; true").output == ""


def test_the_group_goes_when_the_runner_was_killed(grouped: SandboxedHost) -> None:
    """The process beside it removes it; the command has ended by then."""
    command = grouped.start("echo up > up; sleep 1000")
    eventually((grouped.work / "up").exists)
    assert len(left(grouped)) == 1
    words = (grouped.data / "spool" / command.effect_id / "alive").read_text(encoding="utf-8").split()
    os.kill(int(words[words.index("runner") + 1]), signal.SIGKILL)
    eventually(lambda: left(grouped) == [])
    assert grouped.spool.look(command.effect_id, OUTPUT_CHARS).exit_code is None


def test_a_command_whose_group_cannot_be_made_does_not_start(grouped: SandboxedHost) -> None:
    """A limit that was promised does not get lost."""
    grouped.sandbox.cgroups = CommandCgroups("/sys/fs/cgroup/none")
    command = grouped.command("echo ran > ran")
    with pytest.raises(Exception, match="failed before it started anything"):
        grouped.spool.start(command)
    assert not (grouped.work / "ran").exists()
    grouped.sandbox.cgroups = prepared(cgroup_plan())
