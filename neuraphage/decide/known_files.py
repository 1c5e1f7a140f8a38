"""What a conversation tells about files, so that a change can be shown as a diff. Pure.

The content of a file is known from the whole text that was read, or from what was written; each edit moves it on.
Nothing is read from disk: a task may be looked at from another machine, or long after.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from neuraphage.decide.seen_text import Line
from neuraphage.model.tool_traits import NumberedFile, PartOfFile, WholeFile

MAX_KNOWN_CHARS = 200_000
"""A longer file is not remembered; its changes are shown without what stands around them."""
MAX_KNOWN_FILES = 200
CONTEXT_LINES = 3
_NUMBERED = re.compile(r" *(\d+)\t(.*)", re.DOTALL)
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class KnownFiles:
    """Contents of files by path, as the model spells it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def before(self, path: str) -> str | None:
        """The content as far as it is known."""
        return self._texts.get(path)

    def forget(self, path: str) -> None:
        """Forget what the file holds."""
        self._texts.pop(path, None)

    def called(self, change: WholeFile | PartOfFile, params: Mapping[str, Any]) -> None:
        """Take in a call that will change a file."""
        path = str(params.get(change.path, ""))
        before = self._texts.get(path)
        after = "" if before is None and isinstance(change, WholeFile) else before
        after = None if after is None else changed(change, after, params)
        if after is None:
            self.forget(path)
        else:
            self._keep(path, after)

    def was_read(self, shows: NumberedFile, params: Mapping[str, Any], result: str) -> None:
        """Take in a result that shows lines of a file, if it shows the whole file."""
        if params.get(shows.first, 1) != 1 or params.get(shows.count) is not None:
            return
        text = without_numbers(result)
        if text is not None:
            self._keep(str(params.get(shows.path, "")), text)

    def _keep(self, path: str, text: str) -> None:
        self._texts.pop(path, None)
        if len(text) <= MAX_KNOWN_CHARS:
            self._texts[path] = text
        if len(self._texts) > MAX_KNOWN_FILES:
            self._texts.pop(next(iter(self._texts)))


def without_numbers(result: str) -> str | None:
    """The file that a result of read_file shows; None when it shows a part of one, or something else."""
    lines = []
    for number, line in enumerate(result.split("\n"), start=1):
        found = _NUMBERED.fullmatch(line)
        if found is None or int(found[1]) != number:
            return None
        lines.append(found[2])
    return "\n".join(lines) + "\n"


def changed(change: WholeFile | PartOfFile, before: str, params: Mapping[str, Any]) -> str | None:
    """The content after a change; None when the text to replace is not there."""
    if isinstance(change, WholeFile):
        return str(params.get(change.content, ""))
    old, new = str(params.get(change.old, "")), str(params.get(change.new, ""))
    if not old or old not in before:
        return None
    every = change.every is not None and params.get(change.every)
    return before.replace(old, new) if every else before.replace(old, new, 1)


def diff_of(change: WholeFile | PartOfFile, params: Mapping[str, Any], before: str | None) -> list[Line]:
    """A unified diff of what a call changes; without line numbers when the file is not known.

    Args:
        change: how the parameters tell of it.
        params: of the call.
        before: content of the file before it, if known.
    """
    if isinstance(change, WholeFile):
        return _diff(before or "", str(params.get(change.content, "")), numbered=before is not None)
    after = None if before is None else changed(change, before, params)
    if before is not None and after is not None:
        return _diff(before, after, numbered=True)
    return _diff(str(params.get(change.old, "")), str(params.get(change.new, "")), numbered=False)


def _diff(before: str, after: str, *, numbered: bool) -> list[Line]:
    rows = list(difflib.unified_diff(_lines(before), _lines(after), lineterm="", n=CONTEXT_LINES))[2:]
    lines = [(row, _STYLES.get(row[:1], "")) for row in rows if numbered or not row.startswith("@@")]
    if before and after and before.endswith("\n") != after.endswith("\n"):
        new, old = ("a newline", "none") if after.endswith("\n") else ("no newline", "one")
        lines.append((f"\\ the new text has {new} at its end, the old one has {old}", "dim"))
    return lines


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
