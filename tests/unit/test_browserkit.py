"""A machine without a browser: the tests of pages are skipped there, but never in CI."""

from __future__ import annotations

from pathlib import Path

import pytest

from browserkit import PROGRAMS, find_chromium

MISSING = "no Chromium on PATH; install it: apt-get install chromium"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH; nothing is in it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    return tmp_path


def outcome() -> type[BaseException]:
    """What comes of a test that looks for a browser where there is none."""
    with pytest.raises((pytest.fail.Exception, pytest.skip.Exception), match=MISSING) as caught:  # a skip would skip us
        find_chromium()
    return caught.type


def test_without_a_browser_a_test_of_a_page_fails_in_ci(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nobody would look at the pages, and all would be green."""
    monkeypatch.setenv("CI", "true")
    assert outcome() is pytest.fail.Exception


@pytest.mark.parametrize("ci", [None, ""])
def test_without_a_browser_it_is_skipped_elsewhere(
    programs: Path, monkeypatch: pytest.MonkeyPatch, ci: str | None
) -> None:
    """A person need not install one; an empty variable is none."""
    if ci is not None:
        monkeypatch.setenv("CI", ci)
    assert outcome() is pytest.skip.Exception


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("ci", [True, False])
def test_a_browser_is_found_under_each_name(
    programs: Path, monkeypatch: pytest.MonkeyPatch, name: str, ci: bool
) -> None:
    """In CI as elsewhere."""
    if ci:
        monkeypatch.setenv("CI", "true")
    (programs / name).touch(mode=0o755)
    assert find_chromium() == str(programs / name)
