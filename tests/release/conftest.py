"""One wheel and one new machine for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from releasekit import Machine, build_wheel, new_machine


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Machine:
    """A machine that has never seen neuraphage."""
    return new_machine(tmp_path_factory.mktemp("machine"), wheel)
