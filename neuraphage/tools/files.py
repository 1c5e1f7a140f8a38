"""Read whole regular files, never blocking on a pipe or a device, and decode them."""

from __future__ import annotations

import codecs
import os
import stat
from dataclasses import dataclass
from enum import Enum

from neuraphage.tools import beneath
from neuraphage.tools.base import ToolCallError
from neuraphage.tools.paths import ResolvedPath, os_failure

MAX_FILE_BYTES = 10 * 1024 * 1024
"""Largest file that the tools read, edit or write."""

READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
"""How a file is opened that may be anything: no link is followed, and nothing is waited for."""

_CHUNK_BYTES = 1024 * 1024
_KINDS = [
    (stat.S_ISDIR, "directory"),
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISBLK, "block device"),
    (stat.S_ISCHR, "character device"),
]
_WIDE_MARKS = [
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
]


class LineEnd(Enum):
    """How the lines of a file end."""

    LF = "LF"
    CRLF = "CRLF"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class RawFile:
    """A regular file as it was read.

    Args:
        data: all its bytes.
        info: its mode and owner.
    """

    data: bytes
    info: os.stat_result


@dataclass(frozen=True, slots=True)
class TextFile:
    """A decoded file.

    Args:
        text: its text without the byte order mark; line ends as they are.
        has_bom: whether it began with a UTF-8 byte order mark.
        line_end: how its lines end.
    """

    text: str
    has_bom: bool
    line_end: LineEnd

    def encode(self, text: str) -> bytes:
        """Bytes of a changed text in this file's encoding, with its byte order mark."""
        return (codecs.BOM_UTF8 if self.has_bom else b"") + text.encode("utf-8")


def read_raw(place: ResolvedPath, action: str = "read") -> RawFile:
    """Read a regular file of at most MAX_FILE_BYTES.

    Args:
        place: the file.
        action: the verb of the failure text.

    Raises:
        ToolCallError: missing, not a regular file, too large, or unreadable.
    """
    try:
        with place.holder() as (fd, name):
            return read_in(fd, name, place, action)
    except OSError as error:
        raise os_failure(action, place.shown, error, place=place) from error


def read_in(directory_fd: int, name: str, place: ResolvedPath, action: str) -> RawFile:
    """Read a file in a directory that is open already.

    Raises:
        OSError: it cannot be opened or read.
        ToolCallError: it is not a regular file, or too large.
    """
    # Opening a device can already do something, so its kind is asked before and, against a swap, after.
    _require_regular(place, action, os.stat(name, dir_fd=directory_fd, follow_symlinks=False))
    fd = os.open(name, READ_FLAGS, dir_fd=directory_fd)
    try:
        info = os.fstat(fd)
        _require_regular(place, action, info)
        return RawFile(_read_all(place, action, fd), info)
    finally:
        os.close(fd)


def read_raw_or_none(place: ResolvedPath, action: str = "read") -> RawFile | None:
    """As read_raw; None when nothing is there."""
    try:
        is_there = beneath.is_there(place.pin, place.parts)
    except OSError as error:
        raise os_failure(action, place.shown, error) from error
    return read_raw(place, action) if is_there else None


def decode(data: bytes, shown: str) -> TextFile:
    """Decode UTF-8, with or without a byte order mark. No other encoding is guessed.

    Raises:
        ToolCallError: it is binary or in another encoding; the text says where that shows.
    """
    for mark, name in _WIDE_MARKS:
        if data.startswith(mark):
            raise ToolCallError(
                f"{shown} begins with a {name} byte order mark; only UTF-8 is understood. Convert a copy, e.g."
                f" iconv -f {name} -t UTF-8."
            )
    nul = data.find(b"\0")
    if nul >= 0:
        raise ToolCallError(
            f"{shown} is a binary file (a NUL byte at offset {nul}). Look at it with a command made for its"
            " format, e.g. file or xxd."
        )
    has_bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if has_bom else data
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise ToolCallError(
            f"{shown} is not UTF-8: byte 0x{body[error.start]:02x} on line {line} ({error.reason}). Its"
            " encoding is not guessed:"
            " find it out (command `file -i`), then convert a copy with iconv."
        ) from error
    return TextFile(text, has_bom, line_end_of(text))


def line_end_of(text: str) -> LineEnd:
    """How the lines of a text end; LF when it has none."""
    lf_count = text.count("\n")
    crlf_count = text.count("\r\n")
    if crlf_count == 0:
        return LineEnd.LF
    return LineEnd.CRLF if crlf_count == lf_count else LineEnd.MIXED


def require_size(byte_count: int, shown: str, action: str) -> None:
    """Refuse what is over MAX_FILE_BYTES.

    Raises:
        ToolCallError: it is over.
    """
    if byte_count > MAX_FILE_BYTES:
        raise ToolCallError(
            f"Could not {action} {shown}: it is over the limit of {MAX_FILE_BYTES // (1024 * 1024)} MB."
            " Work on a part of it with a command (head, tail, sed, split)."
        )


def _require_regular(place: ResolvedPath, action: str, info: os.stat_result) -> None:
    if stat.S_ISREG(info.st_mode):
        require_size(info.st_size, place.shown, action)
        return
    if stat.S_ISLNK(info.st_mode):  # the path was resolved: it was none then
        raise OSError(beneath.EXCHANGED, "replaced meanwhile")
    kind = next((name for test, name in _KINDS if test(info.st_mode)), "special file")
    advice = (
        "Use list_directory to see what is in it."
        if kind == "directory"
        else "Only regular files can be used; choose another path."
    )
    raise ToolCallError(f"Could not {action} {place.shown}: it is a {kind}, not a regular file. {advice}")


def _read_all(place: ResolvedPath, action: str, fd: int) -> bytes:
    """Read to the end; the size is counted, since a file may grow and /proc tells no size."""
    parts: list[bytes] = []
    total_bytes = 0
    while chunk := os.read(fd, _CHUNK_BYTES):
        total_bytes += len(chunk)
        require_size(total_bytes, place.shown, action)
        parts.append(chunk)
    return b"".join(parts)
