"""The changes themselves, pure: replace a string in a text, or all of it, and keep how its lines end."""

from __future__ import annotations

import codecs

from neuraphage.tools.base import ToolCallError
from neuraphage.tools.files import LineEnd, TextFile, decode, require_size
from neuraphage.tools.near import near_text

_BOM = "\ufeff"


def replaced(file: TextFile, old: str, new: str, *, every: bool, shown: str) -> str:
    """Replace `old` by `new`, once or everywhere.

    Args:
        file: the decoded file.
        old: what to replace; line ends may be spelt LF even if the file has CRLF.
        new: what to put there.
        every: replace all occurrences instead of demanding exactly one.
        shown: the path, for the failure text.

    Raises:
        ToolCallError: not found, ambiguous, nothing to change, or a text that would be too long.
    """
    if old == new:
        raise ToolCallError(
            f"Nothing to edit in {shown}: old_string and new_string are the same. Send the text that should be there."
        )
    old, new = spelled_for(file, old, new)
    count = file.text.count(old)
    if count == 1 and not every and file.text.find(old, file.text.find(old) + 1) >= 0:
        count = 2  # matches that overlap are counted as one, and yet nobody knows which is meant
    if count == 0:
        near = near_text(file.text, old)
        if near is not None:
            raise ToolCallError(f"old_string was not found in {shown}. {near} Nothing was changed.")
        raise ToolCallError(
            f"old_string was not found in {shown}. Read the file again and copy the text exactly: spaces, tabs"
            " and line breaks,"
            " without the line numbers."
        )
    if count > 1 and not every:
        raise ToolCallError(
            f"old_string occurs {count} times in {shown}. Add lines around it until it is unique, or set"
            " replace_all to change every one."
        )
    # before it is made: a million long replacements fit into no memory
    require_size(len(file.text) + count * (len(new) - len(old)), shown, "write")
    return file.text.replace(old, new)


def spelled_for(file: TextFile, old: str, new: str) -> tuple[str, str]:
    """Spell both strings with the line ends of the file.

    In a CRLF file both take CRLF. In a mixed file the strings are taken as they are, unless only their CRLF
    spelling occurs.
    """
    crlf_old, crlf_new = _crlf(old), _crlf(new)
    if file.line_end is LineEnd.CRLF:
        return crlf_old, crlf_new
    if file.line_end is LineEnd.MIXED and old not in file.text and crlf_old in file.text:
        return crlf_old, crlf_new
    return old, new


def happened(file: TextFile, old: str, new: str) -> bool | None:
    """Tell from the text alone whether an edit was made; None when it does not show.

    Used only when no hashes were taken before. A `new` that holds `old` (or is empty) proves nothing by
    being there, so these stay unknown rather than being made twice.
    """
    old, new = spelled_for(file, old, new)
    if old in file.text:
        return None if old in new and new in file.text else False
    return True if new and new in file.text else None


def rewritten(before: bytes | None, content: str) -> bytes:
    """The bytes that replace a file: the content, with the file's byte order mark and CRLF line ends.

    Rewriting the outcome with the same content gives the outcome again, so a probe may ask after the fact.

    Args:
        before: the file's bytes; None when there is none. One that is no UTF-8 text has nothing to be kept.
        content: taken as it is where it spells a mark or CRLF itself, and where the file's line ends are mixed.
    """
    try:
        file = decode(before or b"", "")
    except ToolCallError:
        return content.encode("utf-8")
    if file.line_end is LineEnd.CRLF and "\r\n" not in content:
        content = _crlf(content)
    return file.encode(content.removeprefix(_BOM) if file.has_bom else content)


def kept_of_replaced(content: str, written: bytes) -> list[str]:
    """Name what `written` has of the replaced file, and not of the content; empty when it is the content as given."""
    mark = written.startswith(codecs.BOM_UTF8) and not content.startswith(_BOM)
    crlf = b"\r\n" in written and "\r\n" not in content
    return ["byte order mark"] * mark + ["CRLF line ends"] * crlf


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
