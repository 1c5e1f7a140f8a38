"""The socket of the proxy: of this user alone, and taken over by whoever listens there last."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from neuraphage.errors import SpoolError
from neuraphage.private_files import FILE_MODE, private_folder
from neuraphage.proc.socket_path import short_path

_BACKLOG = 128


def listening(path: Path) -> socket.socket:
    """A socket that listens, with mode 0600 in a folder with mode 0700.

    It takes the place of one that is there. Who calls this holds the lease of the task whose command the socket is for,
    so another one is of a process that is gone or has lost that lease; one that is frozen must not keep the place.

    Args:
        path: of the socket.

    Raises:
        SpoolError: it cannot be made.
    """
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
    # under another name first: what is at the path listens, and is private, from its first instant
    made = path.with_name(f".{secrets.token_hex(3)}")
    with short_path(made) as name:
        listener.bind(name)
    try:
        made.chmod(FILE_MODE)
        listener.listen(_BACKLOG)
        made.replace(path)
    except OSError:
        made.unlink(missing_ok=True)
        raise
