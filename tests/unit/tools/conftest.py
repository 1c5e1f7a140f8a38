"""Fixtures: a tool context over a fresh directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tools_fakes import FakeInterrupt

from neuraphage.decide.files_seen import SeenFile
from neuraphage.ports import ToolContext
from neuraphage.testing.unspooled_commands import UnspooledCommands
from neuraphage.tools.freshness import digest


@pytest.fixture
def interrupt() -> FakeInterrupt:
    return FakeInterrupt()


@pytest.fixture
def spool() -> UnspooledCommands:
    return UnspooledCommands(grace_s=0.2)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The working directory, beside which tests can put what lies outside."""
    directory = tmp_path / "work"
    directory.mkdir()
    return directory.resolve()


@pytest.fixture
def context(root: Path, interrupt: FakeInterrupt, spool: UnspooledCommands) -> ToolContext:
    return ToolContext("task-1", "effect-1", str(root), spool, interrupt)


@pytest.fixture
def having_read(context: ToolContext) -> Callable[[Path], ToolContext]:
    """The context of a conversation that has read a file, all of it, as it is now."""

    def read(path: Path) -> ToolContext:
        data = path.read_bytes() if path.is_file() else None
        return replace(context, files_seen={str(path.resolve()): SeenFile(digest(data), ((1, None),))})

    return read
