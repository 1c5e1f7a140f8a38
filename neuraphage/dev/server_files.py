"""The files of an embedded server: its private folder, its lock and its socket path."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from neuraphage.data_folder import make_data_folder
from neuraphage.errors import StackError
from neuraphage.private_files import make_private, open_private, private_folder
from neuraphage.server_socket import is_short, run_folders

LOCK_TRIES = 6
LOCK_AGAIN_S = 0.05


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Where an embedded server keeps its things.

    Args:
        folder: private folder in the data directory.
        socket_path: unix socket, in the folder or, when that path is too long, in a short run folder.
    """

    folder: Path
    socket_path: Path

    @property
    def config(self) -> Path:
        """Configuration file; it holds the password."""
        return self.folder / "server.conf"

    @property
    def log(self) -> Path:
        """What the server writes."""
        return self.folder / "server.log"

    @property
    def pidfile(self) -> Path:
        """Process id, written by the server."""
        return self.folder / "server.pid"


def open_files(data_dir: Path) -> ServerFiles:
    """Make the server's folders, private to this user.

    Raises:
        StackError: a folder cannot be made, or belongs to someone else.
    """
    folder = data_dir.absolute() / "server"
    try:
        make_data_folder(folder.parent)
        private_folder(folder)
        socket_path = folder / "server.sock"
        if not is_short(socket_path):
            socket_path = _short_run_folder(folder) / "s"
    except OSError as error:
        raise StackError(
            f"make the server's folder {folder}: {error.strerror or error}; choose another NEURAPHAGE_DATA_DIR"
        ) from error
    return ServerFiles(folder, socket_path)


def take_lock(files: ServerFiles) -> IO[str]:
    """Take the folder for this launcher. The lock ends with this process, however it ends.

    Returns:
        The open lock file; close it to give the folder back.

    Raises:
        StackError: another launcher holds it.
    """
    lock = _open_private(files.folder / "lock", "a+")
    if not _lock_alone(lock):
        lock.seek(0)
        holder = lock.read(20).strip() or "unknown"
        lock.close()
        raise StackError(
            f"take the data folder {files.folder.parent}: process {holder} runs a stack there already;"
            " use that one, stop it, or choose another NEURAPHAGE_DATA_DIR"
        )
    try:
        lock.truncate(0)
        os.write(lock.fileno(), str(os.getpid()).encode())  # unbuffered: closing the file has nothing left to write
    except OSError as error:
        lock.close()
        raise StackError(
            f"write {files.folder / 'lock'}: {error.strerror or error}; free some space or choose another"
            " NEURAPHAGE_DATA_DIR"
        ) from error
    return lock


def _lock_alone(lock: IO[str]) -> bool:
    """Lock a file; others hold it for a moment when they look whether there is a stack."""
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(LOCK_AGAIN_S)
            continue
        return True
    return False


def keep_secret(path: Path) -> str:
    """Read a generated password, or make one: at the first start, or when a power cut has left only a part of it.

    Raises:
        StackError: it could not be written.
    """
    saved = read_line(path)
    if saved and saved.isascii() and saved.isprintable():
        return saved
    password = secrets.token_urlsafe(32)
    write_private(path, password)
    return password


def read_line(path: Path) -> str:
    """Text of a small file of ours, whatever has become of it; empty when there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return ""


def write_private(path: Path, text: str) -> None:
    """Replace a file as a whole; nobody else may read it, at no moment.

    Raises:
        StackError: it could not be written.
    """
    try:
        new = path.with_name(path.name + ".new")
        new.unlink(missing_ok=True)
        with _open_private(new, "x") as file:
            file.write(text)
        new.replace(path)
    except OSError as error:
        raise StackError(
            f"write {path}: {error.strerror or error}; free some space or choose another folder"
        ) from error


def _open_private(path: Path, mode: str) -> IO[str]:
    try:
        return open(path, mode, encoding="utf-8", opener=_opener)
    except FileExistsError:
        raise
    except OSError as error:
        raise StackError(f"open {path}: {error.strerror or error}; choose another NEURAPHAGE_DATA_DIR") from error


def _opener(name: str, flags: int) -> int:
    if flags & os.O_EXCL:
        return make_private(Path(name), flags)
    return open_private(Path(name), flags & ~os.O_CREAT)


def _refuse_foreign_parents(folder: Path) -> None:
    """Refuse a place where another user could put a folder of theirs, with a false server, in place of ours."""
    for parent in folder.resolve().parents:
        found = parent.stat()
        others_may_replace = found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX
        if found.st_uid not in (0, os.getuid()) or others_may_replace:
            raise PermissionError(0, f"{parent} can be changed by other users")


def _short_run_folder(folder: Path) -> Path:
    """Make a folder with a short path that belongs to this server folder alone."""
    failure: OSError = FileNotFoundError(0, "no folder with a path short enough for a unix socket")
    for run_folder in run_folders(folder):
        try:
            private_folder(run_folder.parent)
            _refuse_foreign_parents(run_folder)
            private_folder(run_folder)
        except OSError as error:
            failure = error
            continue
        return run_folder
    raise failure
