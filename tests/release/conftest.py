"""One wheel, one new machine and one running stack for all tests of this folder."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack import SCRIPTED, DevStack
from releasekit import BLOCKS, Machine, build_wheel, new_machine


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Machine:
    """A machine that has never seen neuraphage."""
    return new_machine(tmp_path_factory.mktemp("machine"), wheel)


@pytest.fixture(scope="session")
def stack() -> Iterator[DevStack]:
    """The stack that the README's words start, with a script in place of a model that needs a key."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        stack = DevStack(Path(folder), (*BLOCKS["dev"].split()[2:], *SCRIPTED))
        stack.env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), stack.env["PATH"]])
        try:
            stack.start()
            yield stack
        finally:
            stack.kill()
