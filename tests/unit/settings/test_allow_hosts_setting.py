"""The hosts that commands may reach: a person's own setting, never a project's."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.configuration import load
from neuraphage.errors import SettingsError

NAME = "neuraphage.toml"


def test_no_host_by_default() -> None:
    """Default deny."""
    assert load().allow_hosts == ()


def test_a_persons_file_lists_hosts(home: Path) -> None:
    """As a list of texts."""
    (home / NAME).write_text("allow_hosts = ['pypi.org', '*.pythonhosted.org:443', '[::1]:80']", encoding="utf-8")
    assert load().allow_hosts == ("pypi.org", "*.pythonhosted.org:443", "[::1]:80")


def test_a_variable_lists_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With commas or blanks between."""
    monkeypatch.setenv("NEURAPHAGE_ALLOW_HOSTS", "pypi.org, *.pythonhosted.org\n10.0.0.5:3000")
    assert load().allow_hosts == ("pypi.org", "*.pythonhosted.org", "10.0.0.5:3000")


@pytest.mark.parametrize("wrong", ["*", "*.com", "https://pypi.org/simple", "pypi.org:0", "127.1"])
def test_what_is_no_host_is_told_at_the_start(wrong: str) -> None:
    """In one line, with the setting and how a host is written."""
    with pytest.raises(SettingsError, match=r"allow-hosts: .*; write a host ") as caught:
        load(allow_hosts=(wrong,))
    assert "\n" not in str(caught.value)


def test_a_projects_file_may_not_list_hosts() -> None:
    """A cloned project could then send what it finds to its owner."""
    Path(NAME).write_text("allow_hosts = ['evil.org']", encoding="utf-8")
    with pytest.raises(SettingsError, match="a project's file may not set this"):
        load()
