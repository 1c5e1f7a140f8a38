"""Where the socket of a local stack's server is: in its folder, or, when that path is too long, in a short run folder.

Nothing is made here; see `dev/server_files.py`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from pathlib import Path

from platformdirs import user_runtime_path

MAX_SOCKET_PATH_BYTES = 103
"""Longest path of a unix socket that every platform takes (macOS: 104 with the closing zero)."""
SHORTEST = Path("/tmp")  # noqa: S108 - a folder in it is made private, or refused
"""Where a run folder goes when the platform's own and TMPDIR are too long for a socket."""


def find_socket(data_dir: Path) -> Path | None:
    """Where the server's socket is or will be; None when a run folder for it is yet to be made."""
    socket_path = data_dir.absolute() / "server" / "server.sock"
    if is_short(socket_path):
        return socket_path
    return next((folder / "s" for folder in run_folders(socket_path.parent) if folder.is_dir()), None)


def run_folders(folder: Path) -> list[Path]:
    """Folders with a short path that could be made for a server folder, the best one first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it only says that XDG_RUNTIME_DIR is not set
        bases = [user_runtime_path("neuraphage"), Path(tempfile.gettempdir()) / f"neuraphage-{os.getuid()}"]
    bases.append(SHORTEST / f"neuraphage-{os.getuid()}")
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return [base / name for base in bases if is_short(base / name / "s")]


def is_short(socket_path: Path) -> bool:
    """Whether a unix socket can have this path on every platform."""
    return len(os.fsencode(socket_path)) <= MAX_SOCKET_PATH_BYTES
