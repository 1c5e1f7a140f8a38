"""Each bug of the design documents' own code, put back into the product: the test that is named for it fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from bugs import BUGS, SAID, Bug
from test_rows import DEMANDED, ROWS

from source_tree import ROOT

LIMIT_S = 240


def run_of(bug: Bug) -> subprocess.CompletedProcess[str]:
    """The bug's test, with the bug in the product."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "NEURAPHAGE_"))}
    env |= {"SEED_BUG": bug.row, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "seeds")])}
    options = ("-p", "put_back", "-n", "0", "--force-reruns", "0", "-x", "--timeout", str(LIMIT_S))
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, bug.test],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.row)
def test_the_test_of_a_bug_fails_on_it(bug: Bug) -> None:
    """In the test itself or in its closing checks; without the bug it passes, as every test of this suite does."""
    ran = run_of(bug)
    said = ran.stdout + ran.stderr
    assert SAID + bug.row in said, said
    assert ran.returncode == 1, said
    assert re.search(r"\d (failed|errors?) in|\d failed", said), said
    assert "LookupError: S-B" not in said, said


def test_every_bug_is_put_back_and_its_test_is_the_row_s() -> None:
    """The table of rows and that of bugs speak of the same tests."""
    assert [bug.row for bug in BUGS] == [row for row in DEMANDED if row.startswith("S-B")]
    assert [bug.row for bug in BUGS if bug.test not in ROWS[bug.row]] == []
