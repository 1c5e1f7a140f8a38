"""What options of the command line say about settings, for the command that runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_flags: dict[str, Any] = {}


def choose_flags(*, data_dir: Path | None) -> None:
    """Note what this call's options say about settings; they come before every other layer.

    Args:
        data_dir: of --data-dir; None when it was not given.
    """
    _flags.clear()
    if data_dir is not None:
        _flags["data_dir"] = data_dir


def chosen_flags() -> dict[str, Any]:
    """What this call's options say about settings, by the name of the setting."""
    return dict(_flags)
