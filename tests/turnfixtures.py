"""The rig fixture of every suite that drives whole turns in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from turnkit import FakeModel, Rig, Step, new_rig


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """Makes a rig whose model follows the steps; the invariant must hold at the end of the test."""
    made: list[Rig] = []

    def make(*steps: Step, **options: Any) -> Rig:
        made.append(new_rig(tmp_path, FakeModel(*steps), **options))
        return made[-1]

    yield make
    for rig in made:
        rig.check()
