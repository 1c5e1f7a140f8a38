"""What a conversation knows of files: their last known content by hash, and how much of it was shown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuraphage.decide.conversation import visible
from neuraphage.model.tool import FileSight, SightKind

Lines = tuple[int, int | None]
"""First and last line of a stretch; None for the end of the file."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """One file as the conversation last saw it.

    Args:
        sha256: of its bytes; None when nothing was there.
        shown: stretches of this content that were shown, in order and apart from each other.
        earlier: contents from which the task itself has made this one, newest first; nobody else wrote in between.
    """

    sha256: str | None
    shown: tuple[Lines, ...] = ()
    earlier: tuple[str | None, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all of the content is known to the model."""
        return self.shown == ((1, None),)


def files_seen(entries: Sequence[Mapping[str, Any]]) -> dict[str, SeenFile]:
    """Files that the conversation knows, by path.

    Args:
        entries: as stored. Those of a release that kept no hashes tell nothing, so such files are to be read again.
    """
    found: dict[str, SeenFile] = {}
    for entry in visible(entries):
        if entry.get("file"):
            sight = FileSight.model_validate(entry["file"])
            found[sight.path] = _after(found.get(sight.path), sight)
    return found


def _after(before: SeenFile | None, sight: FileSight) -> SeenFile:
    """What is known of a file after one more sight of it."""
    if sight.kind is SightKind.READ:
        lines = (sight.first_line, sight.last_line)
        if before is None or before.sha256 != sight.sha256:
            return SeenFile(sight.sha256, _merged([lines]))
        return SeenFile(sight.sha256, _merged([*before.shown, lines]), before.earlier)
    # line numbers move with an edit: of a file that was shown in part nothing is known for certain then
    whole = sight.kind is SightKind.WRITTEN or (before is not None and before.is_whole)
    earlier = (before.sha256, *before.earlier) if before else (None,)
    return SeenFile(sight.sha256, ((1, None),) if whole else (), earlier)


def _merged(stretches: Iterable[Lines]) -> tuple[Lines, ...]:
    merged: list[Lines] = []
    for first, last in sorted(stretches, key=lambda lines: lines[0]):
        if last is not None and last < first:
            continue
        if merged:
            before_first, before_last = merged[-1]
            if before_last is None or first <= before_last + 1:
                end = None if before_last is None or last is None else max(before_last, last)
                merged[-1] = (before_first, end)
                continue
        merged.append((first, last))
    return tuple(merged)
