"""A file is changed only as the model knows it, and as a person approved it: what others have written is kept."""

from __future__ import annotations

import hashlib

from neuraphage.decide.files_seen import SeenFile
from neuraphage.model.tool import FileSight, SightKind
from neuraphage.ports import ToolContext
from neuraphage.tools.base import ToolCallError
from neuraphage.tools.files import RawFile, read_raw_or_none
from neuraphage.tools.paths import ResolvedPath, resolve


def digest(data: bytes | None) -> str | None:
    """SHA-256 of a file's bytes; None where there is no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def file_key(place: ResolvedPath, context: ToolContext) -> str:
    """The name of a file in what is stored: no secret may be part of it."""
    return context.redact(str(place.path))


def written(place: ResolvedPath, kind: SightKind, data: bytes, context: ToolContext) -> FileSight:
    """The sight of a file that a call has just written."""
    return FileSight(path=file_key(place, context), kind=kind, sha256=digest(data))


def present_state(path: str, context: ToolContext) -> FileSight | None:
    """The file of a call as it is now, to be held against what it is when the call runs; None if it cannot be read."""
    try:
        place = resolve(path, context.working_dir)
        now = read_raw_or_none(place)
    except ToolCallError:
        return None
    return written(place, SightKind.READ, now.data, context) if now else absent(place, context)


def absent(place: ResolvedPath, context: ToolContext) -> FileSight:
    """The sight of a place where no file is."""
    return FileSight(path=file_key(place, context), kind=SightKind.READ, sha256=None)


def require_fresh(place: ResolvedPath, before: RawFile | None, context: ToolContext, *, replaces: bool) -> None:
    """Refuse to write what somebody else has changed since the model, or the person who approved it, saw it.

    Args:
        place: the file.
        before: as it is now; None when there is none.
        context: of the call.
        replaces: whether all of its content goes, so that all of it must have been shown.

    Raises:
        ToolCallError: the file is not the one that was seen; nothing was written.
    """
    seen = context.files_seen.get(file_key(place, context))
    now = digest(before.data) if before else None
    approved = context.approved_file
    if approved is not None and not (approved.path == file_key(place, context) and is_as_approved(approved, now, seen)):
        raise ToolCallError(
            f"{place.shown} {_what_happened(approved.sha256, now, 'the user was asked about this call')}, so what they"
            " approved is not what would come of it. Nothing was written. Look at it again with read_file, then decide;"
            " the user is then asked anew, about the change as it is then."
        )
    if seen is None:
        if before is not None:
            raise ToolCallError(_unread(place, replaces=replaces))
    elif seen.sha256 != now:
        raise ToolCallError(
            f"{place.shown} {_what_happened(seen.sha256, now, 'it was last read or written in this conversation')}."
            " A command or somebody else did that. Nothing was written. Look at it again with read_file, then decide."
        )
    elif replaces and before is not None and not seen.is_whole:
        raise ToolCallError(
            f"{place.shown} was not shown in full: lines were left out or shortened, or a secret was taken out, and"
            " replacing the file would lose them. Nothing was written. Change the part in question with edit, or read"
            " the rest with read_file (offset) first."
        )


def is_as_approved(approved: FileSight, now: str | None, seen: SeenFile | None) -> bool:
    """Whether a file is what a person was asked about, or what the task's own calls have made of that since.

    Args:
        approved: the file as it was when the person was asked.
        now: digest of what is there now.
        seen: the file as the conversation last saw it.
    """
    return now == approved.sha256 or (seen is not None and now == seen.sha256 and approved.sha256 in seen.earlier)


def _unread(place: ResolvedPath, *, replaces: bool) -> str:
    if replaces:
        return (
            f"{place.shown} exists already and was not read in this conversation. Nothing was written. Read it with"
            " read_file first, then decide whether to replace it; to change a part, use edit."
        )
    return f"{place.shown} was not read in this conversation yet. Read it with read_file first, then edit it."


def _what_happened(then: str | None, now: str | None, since: str) -> str:
    if then is None:
        return f"did not exist when {since}, and it does now"
    return f"is gone: it was there when {since}" if now is None else f"has changed since {since}"
