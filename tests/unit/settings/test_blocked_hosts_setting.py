"""The hosts that no command may reach: a person's own setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.configuration import load
from neuraphage.errors import SettingsError

NAME = "neuraphage.toml"


def test_a_file_and_a_variable_list_hosts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the forms of allow_hosts, and all below a name without a dot, too."""
    (home / NAME).write_text("blocked_hosts = ['evil.org', '*.ru', '[::1]:80']", encoding="utf-8")
    assert load().blocked_hosts == ("evil.org", "*.ru", "[::1]:80")
    monkeypatch.setenv("NEURAPHAGE_BLOCKED_HOSTS", "a.org, *.b.org")
    assert load().blocked_hosts == ("a.org", "*.b.org")


@pytest.mark.parametrize("wrong", ["*", "*.10.0.0.1", "https://evil.org/x", "evil.org:0", "127.1"])
def test_what_is_no_host_is_told_at_the_start(wrong: str) -> None:
    """Nobody believes that a host is blocked which is not."""
    with pytest.raises(SettingsError, match=r"blocked-hosts: .*; write a host ") as caught:
        load(blocked_hosts=(wrong,))
    assert "\n" not in str(caught.value)


def test_a_projects_file_may_not_set_it() -> None:
    """It could take out what the person has listed."""
    Path(NAME).write_text("blocked_hosts = []", encoding="utf-8")
    with pytest.raises(SettingsError, match="a project's file may not set this"):
        load()
