"""Commits say what changed in one line that fits anywhere, and why."""

from __future__ import annotations

import subprocess

import pytest

from source_tree import ROOT

SUBJECT_CHARS = 72
FIRST = "da7e7e9385"
"""Of the commits since this one each subject is held to the rule."""


def test_subjects_fit() -> None:
    """Most of what shows a history cuts a subject behind its 72nd character."""
    log = ["git", "log", "--no-merges", "--format=%h %s", f"{FIRST}..HEAD"]
    told = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    if told.returncode != 0:
        pytest.skip("no git, or only the end of the history")
    long = [line for line in told.stdout.splitlines() if len(line.partition(" ")[2]) > SUBJECT_CHARS]
    assert long == []
