"""A worker whose person has rules that nobody can read does not begin: it would not know what they forbid."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE_S
from source_tree import ROOT


@pytest.mark.parametrize(
    ("queue", "refuses", "name", "text", "place"),
    [
        ("np.run", True, "rules.toml", '[[rules]]\nrule = "forbid all"\n', "rule 1"),
        ("np.nowhere", False, "rules.toml", '[[rules]]\nrule = "forbid all"\n', "rule 1"),
        ("np.run", True, "trust.toml", '[[projects]]\ndir = "/a"\n', "project 1"),
    ],
)
def test_a_worker_with_broken_rules_is_refused_in_one_line(
    tmp_path: Path, queue: str, refuses: bool, name: str, text: str, place: str
) -> None:
    """With the place of the fault and exit code 2; one that takes no turns is not asked for them."""
    folder = tmp_path / "config" / "neuraphage"
    folder.mkdir(parents=True)
    (folder / name).write_text(text, encoding="utf-8")
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "NEURAPHAGE_DATA_DIR": str(tmp_path / "data"),
        "ANTHROPIC_API_KEY": "k" * 20,
    }
    argv = [sys.executable, "-m", "celery", "-A", "workers.app", "worker", "-Q", queue]
    ran = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ran.returncode == 2
    assert (f"{folder / name}: {place}" in ran.stderr) is refuses
    assert ran.stderr.count("\n") == 1
