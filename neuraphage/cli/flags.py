"""What options of the command line say about settings, for the command that runs."""

from __future__ import annotations

from typing import Any

_flags: dict[str, Any] = {}


def choose_flag(name: str, value: Any) -> None:
    """Note what an option of this call says about a setting; it comes before every other layer.

    Args:
        name: of the setting.
        value: of the option.
    """
    _flags[name] = value


def forget_flags() -> None:
    """Forget what options of an earlier call in the same process said about settings."""
    _flags.clear()


def chosen_flags() -> dict[str, Any]:
    """What this call's options say about settings, by the name of the setting."""
    return dict(_flags)
