"""Limits of models in settings: which forms are understood, which model they are of, and what clashes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from neuraphage.decide.model_limits import NO_LIMIT, estimated_tokens, in_window, limits_of, read_model_limits
from neuraphage.errors import BadInput
from neuraphage.model.capacity import ModelLimits
from neuraphage.settings import Settings


@pytest.mark.parametrize(
    ("line", "family", "limits"),
    [
        ("claude-sonnet requests=50", "claude-sonnet", ModelLimits(requests=50)),
        ("* output_tokens=8000", "*", ModelLimits(output_tokens=8_000)),
        (
            "  claude-opus  input_tokens=30000 requests=5 output_tokens=1",
            "claude-opus",
            ModelLimits(requests=5, input_tokens=30_000, output_tokens=1),
        ),
    ],
)
def test_a_line_names_a_family_and_its_limits(line: str, family: str, limits: ModelLimits) -> None:
    """In any order; what is not named has no limit."""
    assert read_model_limits(line) == (family, limits)
    assert Settings(model_limits=(line,)).model_limits == (line,)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("claude-sonnet", "limits nothing"),
        ("claude-sonnet requests", "'requests' is no limit"),
        ("claude-sonnet calls=5", "'calls=5' is no limit"),
        ("claude-sonnet requests=5 requests=6", "'requests=6' is no limit"),
        ("claude-sonnet requests=0", "from 1 to"),
        ("claude-sonnet requests=-1", "is no limit"),
        ("claude-sonnet requests=99999999999", "from 1 to"),
        ("claude-sonnet-5-5 requests=5", "a model of the family claude-sonnet"),
        ("requests=5", "limits nothing"),
    ],
)
def test_what_is_wrong_is_told_with_the_form(line: str, told: str) -> None:
    """At the start, and for the setting as a whole."""
    with pytest.raises(BadInput, match=told):
        read_model_limits(line)
    with pytest.raises(ValidationError, match=told):
        Settings(model_limits=(line,))


def test_a_variable_holds_lines() -> None:
    """Each behind a semicolon, as rules do."""
    found = Settings(model_limits="claude-sonnet requests=5; * requests=1").model_limits  # type: ignore[arg-type]
    assert found == ("claude-sonnet requests=5", "* requests=1")


def test_a_family_is_limited_by_its_own_line() -> None:
    """Else by the one for all others; the last of several holds."""
    lines = ("* requests=1", "claude-sonnet requests=2", "claude-sonnet requests=3")
    assert limits_of(lines, "claude-sonnet-5-5") == ModelLimits(requests=3)
    assert limits_of(lines, "claude-haiku-5") == ModelLimits(requests=1)
    assert limits_of(lines[1:], "claude-haiku-5") is None


def test_a_limit_holds_within_its_window() -> None:
    """In whole calls and tokens, never more; a window that allows none is refused."""
    assert [in_window(most, 60.0) for most in (None, 1, 50)] == [NO_LIMIT, 1, 50]
    assert [in_window(300, window_s) for window_s in (2.0, 0.5, 0.1)] == [10, 2, 0]
    with pytest.raises(ValidationError, match="allows less than one within model_limit_window_s"):
        Settings(model_limits=("* requests=10",), model_limit_window_s=5.9)
    assert Settings(model_limits=("* requests=10",), model_limit_window_s=6.0)


def test_more_tokens_are_expected_than_a_text_has() -> None:
    """By a third of its characters, rounded up."""
    assert [estimated_tokens(chars) for chars in (0, 1, 3, 4)] == [0, 1, 1, 2]


@pytest.mark.parametrize("name", ["a key", "ä", "x" * 65])
def test_a_name_of_a_key_is_plain(name: str) -> None:
    """It is part of names of keys of the server."""
    with pytest.raises(ValidationError, match="key_pool"):
        Settings(key_pool=name)
