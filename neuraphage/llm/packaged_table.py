"""Reads the tables by model that come with a release, from JSON with an object `models`."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from neuraphage.errors import SettingsError


def packaged_text(name: str) -> str:
    """The text of a table of this room."""
    return resources.files("neuraphage.llm").joinpath(name).read_text(encoding="utf-8")


def rows_of(text: str, what: str) -> dict[str, Any]:
    """Model id -> its row, unread.

    Args:
        text: of the shape of `prices.json` and `models.json`.
        what: how the table is called, in what is said of a wrong one.

    Raises:
        SettingsError: the text is no such table.
    """
    try:
        return dict(json.loads(text)["models"].items())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(f'{what} is not JSON with an object "models": {error!r}') from error
