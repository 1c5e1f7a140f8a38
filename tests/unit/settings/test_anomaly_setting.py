"""The setting `anomalies`, from a variable and from files."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from neuraphage.settings import Settings


def test_a_variable_holds_several() -> None:
    """Behind semicolons, or each on a line of its own."""
    found = Settings(anomalies="same_call_fails pause 8; no_progress off").anomalies  # type: ignore[arg-type]
    assert found == ("same_call_fails pause 8", "no_progress off")


def test_what_says_nothing_is_refused_at_the_start() -> None:
    """With the kinds and actions that there are."""
    with pytest.raises(
        ValidationError, match=r"write KIND ACTION .LIMIT.; kinds: same_call_fails, .*; actions: off, warn"
    ):
        Settings(anomalies=("loops pause 3",))
