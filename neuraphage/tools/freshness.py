"""A file is changed only as the model knows it, and as a person approved it: what others have written is kept."""

from __future__ import annotations

import hashlib

from neuraphage.decide.files_seen import SeenFile
from neuraphage.model.tool import FileSight, SightKind
from neuraphage.ports import ToolContext
from neuraphage.tools.base import ToolCallError
from neuraphage.tools.files import RawFile, read_raw_or_none
from neuraphage.tools.paths import Place, resolve


def digest(data: bytes | None) -> str | None:
    """SHA-256 of a file's bytes; None where there is no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def file_key(place: Place, context: ToolContext) -> str:
    """The name of a file in what is stored: no secret may be part of it."""
    return context.redact(str(place.path))


def written(place: Place, kind: SightKind, data: bytes, context: ToolContext) -> FileSight:
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


def absent(place: Place, context: ToolContext) -> FileSight:
    """The sight of a place where no file is."""
    return FileSight(path=file_key(place, context), kind=SightKind.READ, sha256=None)


def require_fresh(place: Place, before: RawFile | None, context: ToolContext, *, replaces: bool) -> None:
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
    if seen is None:
        if before is not None:
            raise ToolCallError(_unread(place, replaces=replaces))
    elif seen.sha256 != now:
        raise ToolCallError(_changed(place, seen, now))
    elif replaces and before is not None and not seen.is_whole:
        raise ToolCallError(
            f"{place.shown} was not shown in full: lines were left out or shortened, or a secret was taken out, and"
            " replacing the file would lose them. Nothing was written. Change the part in question with edit, or read"
            " the rest with read_file (offset) first."
        )
    approved = context.approved_file
    if approved is not None and not _is_as_approved(approved, place, now, seen, context):
        raise ToolCallError(
            f"{place.shown} is not as it was when the user was asked about this call, so what was approved is not what"
            " would come of it. Nothing was written. Read it again, then decide; the user is then asked anew."
        )


def _is_as_approved(
    approved: FileSight, place: Place, now: str | None, seen: SeenFile | None, context: ToolContext
) -> bool:
    """Whether it is what the person saw, or what the task's own calls have made of that since."""
    if approved.path != file_key(place, context):
        return False
    return approved.sha256 in ({now} | set(seen.earlier if seen else ()))


def _unread(place: Place, *, replaces: bool) -> str:
    if replaces:
        return (
            f"{place.shown} exists already and was not read in this conversation. Nothing was written. Read it with"
            " read_file first, then decide whether to replace it; to change a part, use edit."
        )
    return f"{place.shown} was not read in this conversation yet. Read it with read_file first, then edit it."


def _changed(place: Place, seen: SeenFile, now: str | None) -> str:
    if seen.sha256 is None:
        what = "did not exist when it was last looked at in this conversation, and it does now"
    elif now is None:
        what = "is gone: it was there when it was last read or written in this conversation"
    else:
        what = "has changed since it was last read or written in this conversation"
    return (
        f"{place.shown} {what}. A command or somebody else did that. Nothing was written. Look at it again with"
        " read_file, then decide."
    )
