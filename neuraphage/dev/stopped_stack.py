"""Whether the local stack of a folder is stopped, and has left tasks. Starts nothing."""

from __future__ import annotations

import socket
from pathlib import Path

from neuraphage import stack_note
from neuraphage.data_folder import SERVER
from neuraphage.errors import StackError
from neuraphage.server_socket import find_socket
from neuraphage.settings import Settings

FOLDER = "appendonlydir"
MANIFEST = "appendonly.aof.manifest"
CONNECT_TIMEOUT_S = 1.0


def source_folder(data_dir: Path) -> Path:
    """Where the server of a data folder keeps its data."""
    return data_dir.absolute() / SERVER / FOLDER


def has_left_tasks(data_dir: Path) -> bool:
    """Whether a stack has left tasks in this folder."""
    try:
        return source_folder(data_dir).joinpath(MANIFEST).is_file()
    except OSError:
        return False


def is_up(settings: Settings) -> bool:
    """Whether a stack says that it is up, and its server, where that is one of this folder, takes connections.

    A note that a machine's end has left says so too; nobody listens then. A note that cannot be read counts as up:
    whoever connects says what is wrong with it.
    """
    if not stack_note.exists(settings.data_dir):
        return False
    try:
        url = stack_note.settings_of_running_stack(settings).state_url.get_secret_value()
    except StackError:
        return True
    path = find_socket(settings.data_dir)
    if not url.startswith("unix://") or path is None:
        return True
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(CONNECT_TIMEOUT_S)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True
