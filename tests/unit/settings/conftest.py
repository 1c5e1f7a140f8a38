"""Settings of nobody: no variable, no file of the person who runs the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The person's config folder, in which nothing is; the current folder is another empty one."""
    for name in [n for n in os.environ if n.upper().startswith("NEURAPHAGE_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "config" / "neuraphage"
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder
