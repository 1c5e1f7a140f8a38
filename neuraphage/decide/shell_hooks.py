"""Hooks that are programs: a line of the settings each. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath

from neuraphage.errors import BadInput
from neuraphage.model.event import EventKind
from neuraphage.model.hook import GUARD_POINTS, OBSERVER_POINTS, HookKind

FORM = "write KIND POINT[,POINT...] [SECONDSs]: PROGRAM [ARGUMENT...], as `guard PreToolUse 5s: /home/me/check.py`"
DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S = 10.0, 300.0
_HEAD = re.compile(r"(guard|observer)\s+([A-Za-z]+(?:\s*,\s*[A-Za-z]+)*)(?:\s+(\d{1,3}(?:\.\d{1,3})?)s)?\s*")


@dataclass(frozen=True, slots=True)
class ShellHookLine:
    """A program that is a hook.

    Args:
        kind: guard or observer.
        points: where it is asked, or the events that it is told of.
        timeout_s: how long one run may take.
        argv: program and arguments; no shell reads them.
    """

    kind: HookKind
    points: tuple[str, ...]
    timeout_s: float
    argv: tuple[str, ...]

    @property
    def name(self) -> str:
        """What people and journals call it: the program's name."""
        return PurePosixPath(self.argv[0]).name


def read_shell_hook(line: str) -> ShellHookLine:
    """A line of the setting `shell_hooks`.

    Raises:
        BadInput: it is not of that form, or there is no such point.
    """
    head, colon, command = line.partition(":")
    found = _HEAD.fullmatch(head.strip())
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        raise BadInput(f"{line[:200]!r}: {error}; {FORM}") from None
    if not colon or found is None or not argv:
        raise BadInput(f"{line[:200]!r}: {FORM}")
    if not argv[0].startswith("/"):
        raise BadInput(f"{line[:200]!r}: name the program by its whole path; it runs in the directories of tasks")
    kind, points = HookKind(found[1]), tuple(re.split(r"\s*,\s*", found[2]))
    known = {one.value for one in GUARD_POINTS}
    if kind is HookKind.OBSERVER:
        known = {one.value for one in OBSERVER_POINTS} | {one.value for one in EventKind}
    unknown = [point for point in points if point not in known]
    if unknown:
        raise BadInput(f"{line[:200]!r}: {', '.join(unknown)} is no point of {kind.value}s; see docs/hooks.md")
    timeout_s = float(found[3]) if found[3] else DEFAULT_TIMEOUT_S
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise BadInput(f"{line[:200]!r}: a hook may take more than 0 s, and {MAX_TIMEOUT_S:g} s at most")
    return ShellHookLine(kind, points, timeout_s, argv)
