"""The socket of the proxy: of this user alone, and taken by one proxy at a time."""

from __future__ import annotations

import errno
import os
import secrets
import socket
from pathlib import Path

from neuraphage.errors import SpoolError
from neuraphage.private_files import FILE_MODE, private_folder

_BACKLOG = 128
_ANSWER_S = 1.0
_MOST_BYTES = 100
"""A socket's path has room for 104 bytes (macOS) or 108; it may be made under a name that is longer by some."""


def listening(path: Path) -> socket.socket:
    """A socket that listens, with mode 0600 in a folder with mode 0700. One that a dead proxy left is replaced.

    Args:
        path: of the socket.

    Raises:
        SpoolError: it cannot be made, or a living proxy has it.
    """
    if len(os.fsencode(path)) > _MOST_BYTES:
        raise SpoolError(
            f"the path of the proxy's socket is longer than {_MOST_BYTES} bytes: {path};"
            " name a data folder with a shorter path (data_dir)"
        )
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        private_folder(path.parent)
        _put_in_place(listener, path)
    except OSError as error:
        listener.close()
        raise SpoolError(
            f"the proxy cannot listen at {path}: {error.strerror or error}; check the folder's owner and mode,"
            " and its space"
        ) from error
    return listener


def _put_in_place(listener: socket.socket, path: Path) -> None:
    if _is_taken(path):
        raise FileExistsError(errno.EADDRINUSE, "another proxy listens there; each wants a path of its own")
    # under another name first: what is at the path listens, and is private, from its first instant
    made = path.with_name(f".{secrets.token_hex(3)}")
    listener.bind(str(made))
    made.chmod(FILE_MODE)
    listener.listen(_BACKLOG)
    made.replace(path)


def _is_taken(path: Path) -> bool:
    """Whether a proxy has the socket; one that does not answer has it, too."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_ANSWER_S)
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError:
            return True
    return True
