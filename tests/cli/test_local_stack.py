"""What `run` tells of a stack that did not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.cli import local_stack
from neuraphage.cli.local_stack import LocalStack
from neuraphage.errors import StackError
from neuraphage.settings import Settings


@pytest.mark.parametrize(("full", "words"), [(True, "the disk is full; free some space"), (False, "it said nothing")])
def test_a_stack_without_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool, words: str) -> None:
    """On a full disk it cannot say why it ended."""
    monkeypatch.setattr(local_stack, "is_full", lambda _folder: full)
    monkeypatch.setattr(local_stack.sys, "executable", "/bin/false")
    stack = LocalStack(Settings(data_dir=tmp_path / "data"), "some:script", lambda _what: None)
    with pytest.raises(StackError, match=f"the local stack did not start: {words}; its output is in"):
        stack.__enter__()
