"""Whether a tool call may run: default deny for side effects, and a few commands that never may."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from neuraphage.model.effect import Permission
from neuraphage.model.tool import ToolDeclaration

ALL_TOOLS = "*"


class Ruling(StrEnum):
    """What policy says of one call."""

    ALLOWED = "allowed"
    DENIED = "denied"
    """A person said no."""
    BLOCKED = "blocked"
    """It would destroy the machine; nobody is asked (K30)."""
    ASK = "ask"


_ROOTS = r"(?:/|/\*|~|~/|~/\*|\$HOME|\$\{HOME\}|\"\$HOME\")"
_FLAGS = r"(?:\s+-[\w-]+)*"
_END = r"[^\S\n]*(?:$|[\n;&|)<>]|\d>)"
_CATASTROPHIC = (
    # flags may stand before and after the path, as rm itself takes them
    re.compile(rf"\brm(?=[^\n;&|]*\s(?:-[a-zA-Z]*[rR][a-zA-Z]*|--recursive)\b){_FLAGS}\s+{_ROOTS}{_FLAGS}{_END}"),
    re.compile(r"\bmkfs(?:\.\w+)?\s"),
    re.compile(r"\bdd\b[^;&|]*\bof=/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)"),
    re.compile(r">\s*/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)"),
    re.compile(r":\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:"),
    re.compile(rf"\bchmod\s+(?:-\w+\s+)*-R\s+\S+\s+{_ROOTS}{_END}"),
)
"""Exact forms that wipe a root, a home or a disk. Other recursive deletes are asked about like any command."""


def is_catastrophic(command: str) -> bool:
    """Whether a shell command is one of the forms that never run."""
    return any(pattern.search(command) for pattern in _CATASTROPHIC)


def ruling(
    tool: ToolDeclaration,
    params: Mapping[str, Any],
    allow: tuple[str, ...],
    grants: Mapping[str, str],
    decided: Permission | None,
) -> Ruling:
    """Decide one call.

    Args:
        tool: what is called.
        params: its parameters.
        allow: tools the task was submitted with, `*` for all.
        grants: remembered answers (always, never) by tool name.
        decided: what a person said about this very call.
    """
    command = params.get("command")
    if isinstance(command, str) and is_catastrophic(command):
        return Ruling.BLOCKED
    if not tool.side_effecting or ALL_TOOLS in allow or tool.name in allow:
        return Ruling.ALLOWED
    said = decided.value if decided is not None else grants.get(tool.name)
    if said == Permission.GRANTED.value:
        return Ruling.ALLOWED
    if said == Permission.DENIED.value:
        return Ruling.DENIED
    return Ruling.ASK


def read_permission(answer: str) -> tuple[Permission, bool]:
    """What an answer to a permission prompt means; anything but a clear yes is a no.

    Returns:
        The permission, and whether it is remembered for the tool.
    """
    word = answer.strip().lower()
    return (
        Permission.GRANTED if word in {"yes", "y", "always"} else Permission.DENIED,
        word in {"always", "never"},
    )
