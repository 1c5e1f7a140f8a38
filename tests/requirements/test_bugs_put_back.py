"""Each known bug, put back into the product: the test that is named for it fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bugs import BUGS, SAID, Bug
from rows import ROWS
from test_rows import SHOWN_BY

from source_tree import ROOT

LIMIT_S = 240
RUNS = Path(__file__).with_name("warm_runs.py")


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what came of each chosen bug's test, with the bug in the product."""
    folder = tmp_path_factory.mktemp("runs")
    chosen = [getattr(item, "callspec", None) for item in request.session.items if item.path == Path(__file__)]
    rows = [spec.params["bug"].row for spec in chosen if spec is not None]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "NEURAPHAGE_"))}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    argv = [sys.executable, str(RUNS), str(folder), str(LIMIT_S), *rows]
    subprocess.run(argv, cwd=ROOT, env=env, timeout=LIMIT_S * len(rows), check=True)
    return folder


@pytest.mark.timeout(LIMIT_S * len(BUGS))
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.row)
def test_the_test_of_a_bug_fails_on_it(bug: Bug, runs: Path) -> None:
    """In the test itself or in its closing checks; without the bug it passes, as every test of this suite does."""
    said = (runs / bug.row).read_text(encoding="utf-8")
    assert SAID + bug.row in said, said
    assert (runs / f"{bug.row}.code").read_text() == "1", said
    assert re.search(r"\d (failed|errors?) in|\d failed", said), said
    assert "LookupError: B" not in said, said


def test_every_bug_is_put_back_and_its_test_is_the_row_s() -> None:
    """The table of rows and that of bugs speak of the same tests."""
    assert [bug.row for bug in BUGS] == [row for row in ROWS if row.startswith("B")]
    assert [bug.row for bug in BUGS if bug.test not in SHOWN_BY[bug.row]] == []
