"""The filter in the kernel: real programs work under it, and what it forbids fails."""

from __future__ import annotations

import errno
import platform
from pathlib import Path

import pytest

from bwrapkit import in_bwrap, needs_bwrap, python
from neuraphage.sandbox.refused_calls import CALLS, MACHINES, WEIGHED
from neuraphage.sandbox.seccomp import compiled_filter

PROGRAM = compiled_filter(platform.machine())
pytestmark = [
    needs_bwrap,
    pytest.mark.skipif(PROGRAM is None, reason="the numbers of this machine's system calls are not known"),
]
COLUMN = list(MACHINES).index(platform.machine()) if PROGRAM else 0
PROBE = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for line in sys.argv[1:]:
    name, *numbers = line.split(",")
    ctypes.set_errno(0)
    done = libc.syscall(*(ctypes.c_long(int(number)) for number in numbers))
    print(name, done, ctypes.get_errno())
"""


def probe(*lines: str, program: bytes | None = PROGRAM) -> dict[str, tuple[int, int]]:
    """Make system calls, each given as name and numbers; what each returned, and its error.

    Bad pointers and open files: without the filter each would fail by another error, and do nothing.
    """
    done = in_bwrap([*python(PROBE), *lines], program=program)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    return {name: (int(returned), int(error)) for name, returned, error in rows}


def test_every_refused_call_fails_in_the_kernel() -> None:
    """With the error of its row. The arguments are such that no call could succeed without the filter."""
    rows = {name: (error, numbers[COLUMN]) for error, name, *numbers in CALLS if numbers[COLUMN] is not None}
    found = probe(*(f"{name},{number},-1,-1,-1,-1,-1,-1" for name, (_, number) in rows.items()))
    assert found == {name: (-1, error) for name, (error, _) in rows.items()}


def test_arguments_are_weighed_in_the_kernel() -> None:
    """A namespace, a socket of the host's machine monitor, a fixed memory, a letter for a terminal."""
    number = {name: numbers[COLUMN] for name, numbers in WEIGHED.items()}
    found = probe(
        f"unshare,{number['unshare']},{0x10000000}",
        f"clone,{number['clone']},{0x10000011},0,0,0,0",
        f"vsock,{number['socket']},40,1,0",
        f"audit,{number['socket']},16,3,9",
        f"personality,{number['personality']},{0x40000}",
        f"tiocsti,{number['ioctl']},0,{0x5412 | 1 << 32},0",
    )
    assert found == {
        "unshare": (-1, errno.EPERM),
        "clone": (-1, errno.EPERM),
        "vsock": (-1, errno.EAFNOSUPPORT),
        "audit": (-1, errno.EAFNOSUPPORT),
        "personality": (-1, errno.EPERM),
        "tiocsti": (-1, errno.EPERM),
    }


def test_without_the_filter_the_calls_get_through() -> None:
    """Else the tests above would show nothing."""
    number = {name: numbers[COLUMN] for name, numbers in WEIGHED.items()}
    lines = (f"unshare,{number['unshare']},{0x10000000}", f"personality,{number['personality']},{0x40000}")
    assert all(returned >= 0 for returned, _ in probe(*lines, program=None).values())


def test_what_is_left_is_allowed_in_the_kernel() -> None:
    """Sockets of the network, the question which personality it is, an own table of files."""
    number = {name: numbers[COLUMN] for name, numbers in WEIGHED.items()}
    found = probe(
        f"inet,{number['socket']},2,1,0",
        f"inet6,{number['socket']},10,1,0",
        f"unix,{number['socket']},1,1,0",
        f"route,{number['socket']},16,3,0",
        f"personality,{number['personality']},{0xFFFFFFFF}",
        f"unshare,{number['unshare']},{0x400}",
    )
    assert [name for name, (returned, _) in found.items() if returned < 0] == []


THREADS = """
import concurrent.futures, multiprocessing, socket, subprocess, sys, threading
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert list(pool.map(str, range(9))) == list("012345678")
assert subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, text=True).stdout == "7\\n"
with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    assert list(pool.map(abs, [-1, -2])) == [1, 2]
listener = socket.create_server(("127.0.0.1", 0))
with socket.create_connection(listener.getsockname()) as one, listener.accept()[0] as two:
    one.sendall(b"x")
    assert two.recv(1) == b"x"
assert socket.getaddrinfo("localhost", 80)
"""


def test_python_works_under_it() -> None:
    """Threads (clone3 is absent, so libc uses clone), programs, pools of processes, sockets, names."""
    done = in_bwrap(python(THREADS), program=PROGRAM, more=["--tmpfs", "/dev/shm"])
    assert (done.returncode, done.stderr) == (0, "")


def test_a_shell_and_git_work_under_it(tmp_path: Path) -> None:
    """A pipe, a job in the background, a repository with a commit."""
    script = """
    set -e
    seq 3 | sort -r | tail -n 1
    sleep 0 & wait
    git init -q . && echo a >a && git add a
    git -c user.name=a -c user.email=a@a commit -q -m one
    git log --format=%s
    """
    done = in_bwrap(
        ["sh", "-c", script], program=PROGRAM, more=["--bind", str(tmp_path), str(tmp_path), "--chdir", str(tmp_path)]
    )
    assert (done.returncode, done.stdout) == (0, "1\none\n"), done.stderr


def test_the_status_of_a_command_passes_through() -> None:
    """As without the filter."""
    assert in_bwrap(["sh", "-c", "exit 7"], program=PROGRAM).returncode == 7
