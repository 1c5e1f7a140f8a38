"""What an embedded server is told: password, port and configuration, kept between runs in private files."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path
from typing import Literal

from neuraphage.dev.server_files import ServerFiles, keep_secret, read_line, write_private
from neuraphage.errors import StackError

PORTS = range(20_000, 32_000)
"""Below the ports that outgoing connections take, so that a port is still free at the next start."""

Fsync = Literal["always", "everysec"]


def keep_password(files: ServerFiles) -> str:
    """Read the server's password, or make one at the first start."""
    return keep_secret(files.folder / "password")


def keep_port(files: ServerFiles) -> int:
    """Choose a free loopback port: the one of the last start if it is still free.

    Raises:
        StackError: no free port was found.
    """
    saved = saved_port(files)
    if saved is not None and _is_free(saved):
        return saved
    for _ in range(200):
        port = PORTS[secrets.randbelow(len(PORTS))]
        if _is_free(port):
            return port
    raise StackError(f"find a free loopback port: none of 200 tried in {PORTS.start}-{PORTS.stop - 1} was free")


def saved_port(files: ServerFiles) -> int | None:
    """Read the port of the last start; None when there was none."""
    saved = read_line(files.folder / "port")
    is_number = saved.isascii() and saved.isdigit() and len(saved) <= len("65535")
    return int(saved) if is_number and 0 < int(saved) < 65_536 else None


def write_config(files: ServerFiles, password: str, port: int, fsync: Fsync) -> None:
    """Write the configuration, and the port for the next start."""
    write_private(files.folder / "port", str(port))
    write_private(files.config, render_config(files, password, port, fsync))


def render_config(files: ServerFiles, password: str, port: int, fsync: Fsync) -> str:
    """Spell out the configuration. Pure.

    Args:
        files: where things are.
        password: of the default user.
        port: loopback port.
        fsync: when an acknowledged write is on disk: always, or within a second.
    """
    lines = {
        "bind": "127.0.0.1",
        "port": str(port),
        "unixsocket": quote_value(files.socket_path),
        "unixsocketperm": "700",
        "requirepass": quote_value(password),
        "dir": quote_value(files.folder),
        "pidfile": quote_value(files.pidfile),
        "daemonize": "no",
        "databases": "16",
        "appendonly": "yes",
        "appendfsync": fsync,
        "save": '""',
        "maxmemory-policy": "noeviction",
        # The log is its standard output, so that errors before the configuration is read land there too.
        "logfile": '""',
        # The command line keeps the path of this file: by it a server left over is recognised.
        "set-proc-title": "no",
    }
    return "".join(f"{name} {value}\n" for name, value in lines.items())


def quote_value(value: str | Path) -> str:
    """Quote a value for the configuration file, byte by byte where needed."""
    plain = set(range(0x20, 0x7F)) - {ord('"'), ord("\\")}
    return '"' + "".join(chr(b) if b in plain else f"\\x{b:02x}" for b in os.fsencode(value)) + '"'


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does: closed connections may linger
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
