"""The name of a spool folder, by which processes tell whether they mean the same one."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from neuraphage.errors import SpoolError
from neuraphage.spool import records
from neuraphage.spool.refusal import refused

_FILE = "identity"
_NAME = re.compile(r"[0-9a-f]{32}")


def of_folder(root: Path) -> str:
    """Read the folder's name, or give it one; of two processes that give one, the first is heard.

    Raises:
        SpoolError: it cannot be written or read, or is no name.
    """
    path = root / _FILE
    try:
        if not path.exists():
            _give(root)
        name = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise SpoolError(refused("name the spool folder", root, error)) from error
    if not _NAME.fullmatch(name):
        # two folders with a torn name would pass for one, and their commands for the same
        raise SpoolError(f"{path} is damaged: it holds no name of 32 hexadecimal digits; delete it")
    return name


def _give(root: Path) -> None:
    directory = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        records.write_once(directory, _FILE, secrets.token_hex(16).encode())
    finally:
        os.close(directory)
