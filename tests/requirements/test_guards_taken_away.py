"""Each guard of the processes, taken away alone, is missed by a test of what it is there for."""

from __future__ import annotations

from pathlib import Path

import pytest
from bugs import Bug
from every_guard import GUARDS
from runs_without import LIMIT_S, assert_missed


@pytest.mark.timeout(LIMIT_S * len(GUARDS))
@pytest.mark.parametrize("bug", GUARDS, ids=lambda bug: bug.row)
def test_a_guard_that_is_gone_is_missed(bug: Bug, runs: Path) -> None:
    """By one named test."""
    assert_missed(bug, runs)


def test_each_guard_has_a_name_of_its_own() -> None:
    """What came of it is kept under that name; and each is another change."""
    assert len({guard.row for guard in GUARDS}) == len(GUARDS)
    assert len({(guard.file, guard.old, guard.new) for guard in GUARDS}) == len(GUARDS)
