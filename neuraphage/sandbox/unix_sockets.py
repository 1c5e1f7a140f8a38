"""Sockets in the file system that a command could connect to: hide them, or they lead out of its sandbox.

A network of its own keeps a command from sockets without a name in the file system, and nothing else: who can see the
socket of a container daemon, of a key agent or of a desktop's bus can connect to it, also where it is mounted
read-only, and have done outside what the sandbox forbids.

What is found are those that are there now. A folder where others will appear (/run) is better hidden as a whole.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection
from pathlib import Path

LIST = Path("/proc/net/unix")
_ROW = re.compile(r"[0-9a-f]+: [0-9A-F]+ [0-9A-F]+ ([0-9A-F]+) ([0-9A-F]+) [0-9A-F]+ +\d+ (/.*)")
_LISTENS, _DATAGRAMS = 0x10000, 2


def named_sockets(listing: str) -> tuple[str, ...]:
    """Absolute paths of those that take connections or datagrams.

    Args:
        listing: text of /proc/net/unix.
    """
    rows = [row for line in listing.split("\n") if (row := _ROW.fullmatch(line))]
    named = {row[3] for row in rows if int(row[1], 16) & _LISTENS or int(row[2], 16) == _DATAGRAMS}
    return tuple(sorted(named))


def reachable_sockets(besides: Collection[str] = ()) -> tuple[str, ...]:
    """Resolved paths of those that this user may connect to; none on systems that do not list them.

    Args:
        besides: resolved paths that are left out, as that of the proxy.
    """
    try:
        listing = LIST.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ()
    found = {os.path.realpath(path) for path in named_sockets(listing) if _is_reachable(path)}
    return tuple(sorted(found - set(besides)))


def _is_reachable(path: str) -> bool:
    try:
        return stat.S_ISSOCK(Path(path).stat().st_mode) and os.access(path, os.W_OK)
    except OSError:
        return False
