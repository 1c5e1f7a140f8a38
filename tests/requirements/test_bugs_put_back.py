"""Each known bug, put back into the product: the test that is named for it fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from bugs import BUGS, Bug
from rows import ROWS
from runs_without import LIMIT_S, assert_missed
from test_rows import SHOWN_BY


@pytest.mark.timeout(LIMIT_S * len(BUGS))
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.row)
def test_the_test_of_a_bug_fails_on_it(bug: Bug, runs: Path) -> None:
    """In the test itself or in its closing checks; without the bug it passes, as every test of this suite does."""
    assert_missed(bug, runs)


def test_every_bug_is_put_back_and_its_test_is_the_row_s() -> None:
    """The table of rows and that of bugs speak of the same tests."""
    assert [bug.row for bug in BUGS] == [row for row in ROWS if row.startswith("B")]
    assert [bug.row for bug in BUGS if bug.test not in SHOWN_BY[bug.row]] == []
