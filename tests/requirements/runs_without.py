"""Runs of tests with a bug put back, or without a guard: all that a module has chosen, one after the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bugs import SAID, Bug

from source_tree import ROOT

LIMIT_S = 240
RUNS = Path(__file__).with_name("warm_runs.py")


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what came of each chosen test, with its bug in the product."""
    folder = tmp_path_factory.mktemp("runs")
    chosen = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    rows = [spec.params["bug"].row for spec in chosen if spec is not None]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "NEURAPHAGE_"))}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    argv = [sys.executable, str(RUNS), str(folder), str(LIMIT_S), *rows]
    subprocess.run(argv, cwd=ROOT, env=env, timeout=LIMIT_S * len(rows), check=True)
    return folder


def assert_missed(bug: Bug, runs: Path) -> None:
    """The test failed, in itself or in its closing checks; without the bug it passes, as every test of this suite."""
    said = (runs / bug.row).read_text(encoding="utf-8")
    assert SAID + bug.row in said, said
    assert (runs / f"{bug.row}.code").read_text() == "1", said
    assert re.search(r"\d (failed|errors?) in|\d failed", said), said
    assert f"LookupError: {bug.row}" not in said, said
