"""The setting that says who makes summaries."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from neuraphage.errors import SettingsError
from neuraphage.settings import Settings


@pytest.mark.parametrize("value", ["cheap", "tier:expert", "own", "claude-x", "openai:small", "mine"])
def test_a_tier_an_id_or_own(value: str) -> None:
    """A tier of the settings, as `default_model` takes one."""
    assert Settings(summary_model=value, tiers={"mine": ("a",)}).summary_model == value  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("value", "told"), [("tier:nope", "there is no such tier"), ("", "names no model"), ("two words", "is no id")]
)
def test_what_is_none_is_told_at_the_start(value: str, told: str) -> None:
    """With the setting's name and what else may be written."""
    with pytest.raises(ValidationError, match=told) as found:
        Settings(summary_model=value)
    assert "summary_model:" in str(found.value)
    assert "or write own" in str(found.value)


def test_a_projects_file_may_not_say_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cloned repository must not choose who is sent what a task works on."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "neuraphage.toml").write_text('summary_model = "openai:theirs"\n', encoding="utf-8")
    with pytest.raises(SettingsError, match="a project's file may not set this"):
        Settings()
