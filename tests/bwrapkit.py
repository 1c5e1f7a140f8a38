"""Bubblewrap as tests of the parts of a sandbox use it: little more than a network of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from patience import PATIENCE_S

BWRAP = shutil.which("bwrap")
BASE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent")


def _works() -> bool:
    if BWRAP is None:
        return False
    return subprocess.run([BWRAP, *BASE, "true"], check=False, capture_output=True, timeout=PATIENCE_S).returncode == 0


needs_bwrap = pytest.mark.skipif(not _works(), reason="bubblewrap is not installed, or may not make namespaces here")


def in_bwrap(
    argv: Sequence[str], *, more: Sequence[str] = (), program: bytes | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command under bubblewrap.

    Args:
        argv: the command.
        more: further options.
        program: filter of system calls.
        env: of the command; by default that of the tests.
    """
    assert BWRAP is not None
    with tempfile.TemporaryFile() as file:
        file.write(program or b"")
        file.seek(0)
        options = ["--seccomp", str(file.fileno())] if program else []
        return subprocess.run(
            [BWRAP, *BASE, *more, *options, *argv],
            pass_fds=[file.fileno()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=os.environ | (env or {}),
            timeout=PATIENCE_S,
            check=False,
        )


@contextmanager
def started(argv: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is gone at the end, however the test ends."""
    with subprocess.Popen(argv, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def python(program: str) -> list[str]:
    """The interpreter of the tests with a program."""
    return [sys.executable, "-I", "-c", program]
