"""What the filter of system calls answers, read step by step as the kernel would, for both machines."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from neuraphage.sandbox.refused_calls import CALLS, MACHINES, NEWEST, WEIGHED
from neuraphage.sandbox.seccomp import ALLOW, ERRNO, KILL, compiled_filter

BOTH = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
NAMESPACES = {
    "fs": 0x20000, "cgroup": 0x02000000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000, "pid": 0x20000000,
    "net": 0x40000000,
}  # fmt: skip
HIGH = 1 << 32
"""A bit that the kernel does not look at in these arguments."""
HEADERS = {"x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "/usr/include/asm-generic/unistd.h"}


def answer(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """Run the program over the facts of one call; a step that is none of ours fails."""
    steps = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<iIQ6Q", number - HIGH if number >= 1 << 31 else number, arch, 0, *padded)
    at, value = 0, 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == 0x20:
            assert operand % 4 == 0
            (value,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            return int(operand)
        else:
            outcome = {0x15: value == operand, 0x25: value > operand, 0x45: bool(value & operand)}[code]
            at += if_true if outcome else if_false


def of(machine: str, number: int, *arguments: int, namespaces: bool = True) -> int:
    program = compiled_filter(machine, namespaces=namespaces)
    assert program is not None
    return answer(program, MACHINES[machine], number, *arguments)


def weighed(machine: str, name: str, *arguments: int, namespaces: bool = True) -> int:
    return of(machine, WEIGHED[name][list(MACHINES).index(machine)], *arguments, namespaces=namespaces)


@BOTH
def test_calls_that_are_not_named_are_allowed(machine: str) -> None:
    """Every number up to the newest one that is in no table passes, whatever its arguments."""
    column = list(MACHINES).index(machine)
    named = {call[2 + column] for call in CALLS} | {numbers[column] for numbers in WEIGHED.values()}
    others = set(range(NEWEST + 1)) - named
    assert len(others) > 390
    assert {number for number in others if of(machine, number, *[2**64 - 1] * 6) != ALLOW} == set()


@BOTH
def test_named_calls_are_refused_with_their_error(machine: str) -> None:
    """Each answers with the error of its row, and no number stands in two rows."""
    column = list(MACHINES).index(machine)
    rows = {name: (error, numbers[column]) for error, name, *numbers in CALLS if numbers[column] is not None}
    assert len({number for _, number in rows.values()}) == len(rows) > 50
    assert {name: of(machine, number) for name, (error, number) in rows.items()} == {
        name: ERRNO | error for name, (error, _) in rows.items()
    }


@pytest.mark.parametrize("machine", sorted(HEADERS))
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    """A wrong number refuses another call, and lets the one that was meant pass."""
    header = Path(HEADERS[machine])
    if not header.exists():
        pytest.skip("the headers of the kernel are not installed")
    column = list(MACHINES).index(machine)
    text = header.read_text(encoding="utf-8")
    numbers = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    ours = {name: row[column] for _, name, *row in CALLS} | {name: row[column] for name, row in WEIGHED.items()}
    known = {name: number for name, number in ours.items() if name in numbers}
    assert len(known) > 50
    assert known == {name: numbers[name] for name in known}
    assert {name for name in set(ours) - set(known) if ours[name] is not None} <= {"open_tree_attr"}


@BOTH
def test_another_machines_calls_end_the_process(machine: str) -> None:
    """Their numbers mean other calls: 32-bit programs, and the other machine of the table."""
    program = compiled_filter(machine)
    assert program is not None
    others = {0x40000003, 0x40000028, *MACHINES.values()} - {MACHINES[machine]}
    assert {answer(program, arch, 0) for arch in others} == {KILL}


@BOTH
@pytest.mark.parametrize("number", [NEWEST + 1, 512, 547, 0x40000000, 0x40000065, 0xFFFFFFFF])
def test_unknown_calls_are_absent(machine: str, number: int) -> None:
    """Newer ones, those of x32 with its bit and without, and no call at all."""
    assert of(machine, number) == ERRNO | errno.ENOSYS


@BOTH
@pytest.mark.parametrize("flag", NAMESPACES.values(), ids=NAMESPACES)
def test_no_new_namespace(machine: str, flag: int) -> None:
    """Neither by clone nor by unshare, alone or among other flags, whatever the upper half of the argument says."""
    for flags in (flag, flag | 0x3D0F11, flag | HIGH):
        assert weighed(machine, "clone", flags) == ERRNO | errno.EPERM
        assert weighed(machine, "unshare", flags) == ERRNO | errno.EPERM


@BOTH
def test_threads_processes_and_own_files_are_allowed(machine: str) -> None:
    """clone as fork, vfork and pthread_create use it; unshare of the table of files and the folder. A namespace of
    clocks is none of clone's flags, where its bit is a part of the signal's number."""
    for flags in (0x11, 0x4111, 0x3D0F00, 0x1200011, 0x80):
        assert weighed(machine, "clone", flags) == ALLOW
    assert weighed(machine, "unshare", 0x400 | 0x200) == ALLOW
    assert weighed(machine, "unshare", 0x80) == ERRNO | errno.EPERM


@BOTH
def test_no_typing_into_terminals(machine: str) -> None:
    """TIOCSTI and TIOCLINUX, also with bits that the kernel cuts off; other requests pass."""
    for request in (0x5412, 0x541C, 0x5412 | HIGH, 0x541C | 0xABC << 32):
        assert weighed(machine, "ioctl", 0, request) == ERRNO | errno.EPERM
    for request in (0x5401, 0x5413, 0x541B, 0x8912):
        assert weighed(machine, "ioctl", 0x5412, request) == ALLOW


@BOTH
def test_personalities(machine: str) -> None:
    """The usual ones and the question; not a memory at fixed places or one that runs whatever it reads."""
    for allowed in (0, 8, 0x20000, 0x20008, 0xFFFFFFFF, HIGH):
        assert weighed(machine, "personality", allowed) == ALLOW
    for refused in (0x40000, 0x400000, 0x100000, 1):
        assert weighed(machine, "personality", refused) == ERRNO | errno.EPERM


@BOTH
def test_families_of_sockets(machine: str) -> None:
    """Local ones, those of the internet, and the one of netlink that libc resolves names by."""
    unknown = ERRNO | errno.EAFNOSUPPORT
    for family in (1, 2, 10):
        assert weighed(machine, "socket", family, 1, 77) == ALLOW
    assert weighed(machine, "socket", 16, 3, 0) == ALLOW
    assert {weighed(machine, "socket", 16, 3, protocol) for protocol in (2, 4, 9, 10, 12, 15, 16)} == {unknown}
    assert {weighed(machine, "socket", family, 1, 0) for family in (0, 3, 5, 17, 29, 31, 38, 40, 44, 46)} == {unknown}
    assert weighed(machine, "socketpair", 1, 1, 0) == ALLOW
    assert weighed(machine, "socketpair", 30, 1, 0) == unknown


@BOTH
def test_without_namespaces_only_pairs_of_sockets_are_left(machine: str) -> None:
    """Programs talk to their children by them. And no limits of other processes are set, by whatever id."""
    families = (1, 2, 10, 16, 40)
    assert {weighed(machine, "socket", family, namespaces=False) for family in families} == {ERRNO | errno.EPERM}
    assert weighed(machine, "socketpair", 1, namespaces=False) == ALLOW
    assert weighed(machine, "prlimit64", 0, namespaces=False) == ALLOW
    assert weighed(machine, "prlimit64", 7, namespaces=False) == ERRNO | errno.EPERM
    assert weighed(machine, "prlimit64", 7) == ALLOW


def test_no_filter_for_a_machine_that_is_not_known() -> None:
    """Its numbers are others: a filter made of these would refuse the wrong calls."""
    assert compiled_filter("riscv64") is None
    assert compiled_filter("i686") is None
    assert compiled_filter("") is None
