"""A host with a sandbox, outside of /tmp as most working directories are."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxkit import SandboxedHost

OUTSIDE = Path("/opt")
"""Neither hidden from commands nor replaced for them."""


@pytest.fixture
def host() -> Iterator[SandboxedHost]:
    """A host of its own; its commands are ended after the test."""
    folder = Path(tempfile.mkdtemp(dir=OUTSIDE if _is_writable(OUTSIDE) else Path(__file__).parent, prefix="sandbox-"))
    try:
        made = SandboxedHost(folder)
        yield made
        for effect_id, _ in made.spool.running():
            made.spool.cancel(effect_id)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryDirectory(dir=folder):
            return True
    except OSError:
        return False
