"""Sockets that a command could connect to, found in what the kernel lists, and hidden from it."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path

import pytest

from bwrapkit import in_bwrap, needs_bwrap, python
from neuraphage.sandbox.unix_sockets import LIST, named_sockets, reachable_sockets

needs_list = pytest.mark.skipif(not LIST.exists(), reason="only Linux lists them")
LISTING = """\
Num       RefCount Protocol Flags    Type St Inode Path
00000000aeaa6b9e: 00000003 00000000 00000000 0001 03 824329 /run/connected
00000000bf3f926e: 00000002 00000000 00010000 0001 01 882976 /run/docker.sock
0000000018980dfc: 00000002 00000000 00010000 0001 01  82974 /tmp/a b
00000000dd2464db: 00000003 00000000 00000000 0001 03 764546
000000001c70b076: 00000002 00000000 00000000 0002 01 882975 /dev/log
000000001c70b077: 00000002 00000000 00010000 0005 01 882975 /run/sequenced
00000000e6cbcb7d: 00000002 00000000 00010000 0001 01 713576 @/tmp/.X11-unix/X0
00000000e6cbcb7e: 00000002 00000000 00010000 0001 01 713577 relative/path
"""


def test_what_takes_connections_or_datagrams_is_named() -> None:
    """Not the ends of connections, which have the same name, and not what has no place in the file system."""
    assert named_sockets(LISTING) == ("/dev/log", "/run/docker.sock", "/run/sequenced", "/tmp/a b")
    assert named_sockets("") == ()


@needs_list
def test_sockets_that_are_there_are_found(tmp_path: Path) -> None:
    """By their resolved path; not one that was removed, nor what came into its place."""
    (tmp_path / "link").symlink_to(tmp_path)
    names = {"link/one": socket.SOCK_STREAM, "two": socket.SOCK_DGRAM, "gone": socket.SOCK_STREAM}
    with contextlib.ExitStack() as open_ones:
        for name, kind in names.items():
            server = open_ones.enter_context(socket.socket(socket.AF_UNIX, kind))
            server.bind(str(tmp_path / name))
            if kind is socket.SOCK_STREAM:
                server.listen()
        (tmp_path / "gone").unlink()
        (tmp_path / "gone").touch()
        place = str(tmp_path.resolve())
        assert [path for path in reachable_sockets() if path.startswith(place)] == [f"{place}/one", f"{place}/two"]
        assert f"{place}/one" not in reachable_sockets([f"{place}/one"])


@needs_list
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() == 0, reason="root may connect to all of them")
def test_sockets_of_others_are_left_out(tmp_path: Path) -> None:
    """What this user may not connect to needs no hiding."""
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "one"))
        one.listen()
        (tmp_path / "one").chmod(0o400)
        assert str((tmp_path / "one").resolve()) not in reachable_sockets()


@needs_bwrap
@needs_list
def test_a_socket_is_reached_unless_it_is_hidden(tmp_path: Path) -> None:
    """From a network of its own, through a mount that is read-only: so hiding is what keeps a command from it."""
    path = str((tmp_path / "one").resolve())
    program = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path)
        one.listen()
        assert in_bwrap(python(program)).returncode == 0
        assert path in reachable_sockets()
        assert in_bwrap(python(program), more=["--ro-bind", "/dev/null", path]).returncode != 0
