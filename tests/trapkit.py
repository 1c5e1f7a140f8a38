"""A folder that takes a Python program over, if the program imports from it or runs a program of it."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

OPTIONAL = (
    "usercustomize", "sitecustomize", "celeryconfig", "flowerconfig", "django", "eventlet", "gevent", "uvloop",
    "httptools", "brotli", "brotlicffi", "zstandard", "setproctitle", "readline", "h2", "socksio", "trio", "winloop",
)  # fmt: skip
"""Modules that some library takes if they are there."""
PROGRAMS = ("valkey-server", "redis-server", "git", "sh", "rg")
_MODULE = """import posix as _posix
_record = _posix.open({record!r}, _posix.O_WRONLY | _posix.O_APPEND | _posix.O_CREAT, 0o600)
with open("/proc/self/cmdline", "rb") as _file:
    _posix.write(_record, {name!r}.encode() + b" in " + _file.read().replace(b"\\0", b" ") + b"\\n")
_posix.close(_record)
raise ImportError("the trap has sprung")
"""


class Trap:
    """A folder with a module of every name that a program here may import, each of which notes that it ran.

    Args:
        folder: to be made.
        record: file for what ran.
    """

    def __init__(self, folder: Path, record: Path) -> None:
        self.folder, self._record = folder, record
        folder.mkdir()
        for name in trapped_names():
            (folder / f"{name}.py").write_text(_MODULE.format(record=str(record), name=name), encoding="utf-8")
        for name in PROGRAMS:
            program = folder / name
            program.write_text(f"#!/bin/bash\necho {name} >> {record}\nexit 1\n", encoding="utf-8")
            program.chmod(0o755)

    @property
    def sprung(self) -> list[str]:
        """What ran, and in which process."""
        return self._record.read_text(encoding="utf-8").splitlines() if self._record.exists() else []


def trapped_names() -> list[str]:
    """Every module of the standard library that is no part of the interpreter, and every one that is installed."""
    ours = {"neuraphage", "workers"}  # as an editable install, they are in no list
    installed = {name.partition(".")[0] for name in importlib.metadata.packages_distributions()}
    names = (set(sys.stdlib_module_names) | installed | set(OPTIONAL) | ours) - set(sys.builtin_module_names)
    return sorted(name for name in names if name.isidentifier())
