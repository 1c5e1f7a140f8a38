"""Which names a tool may have."""

from __future__ import annotations

import re

from neuraphage.decide.rules.reading import HOST

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def name_problem(name: str) -> str | None:
    """Why a tool may not be called so, by the rules of the model's API; None when it may."""
    if name == HOST:
        return f"tool name {name!r} stands for hosts in rules; name it otherwise"
    if _NAME.fullmatch(name):
        return None
    return f"tool name {name!r}: 1 to 64 letters, digits, _ and - are allowed"
