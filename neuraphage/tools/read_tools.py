"""read_file and list_directory."""

from __future__ import annotations

import errno
import os
import stat
from itertools import islice
from typing import Annotated

from pydantic import Field

from neuraphage.decide.attachments import attachment_of, label
from neuraphage.decide.media_kinds import media_kind
from neuraphage.decide.shorten import printable
from neuraphage.errors import BadInput
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import SightKind, ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools import beneath
from neuraphage.tools.base import Params, ParsedTool, PathText, ToolCallError, input_schema
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS
from neuraphage.tools.files import LineEnd, decode, read_raw_or_none
from neuraphage.tools.freshness import absent, written
from neuraphage.tools.numbered_lines import number_lines, numbered_lines
from neuraphage.tools.paths import ResolvedPath, os_failure, resolve
from neuraphage.tools.unseen_characters import NOTE_CHARS, unseen_note

FILE_TIMEOUT_S = 60.0
"""Promised, not enforced: nothing can interrupt a thread that reads from a network mount that hangs."""
MAX_ENTRIES_SHOWN = 1_000
_MAX_ENTRIES_READ = 100_000
_NOTE_CHARS = 300 + NOTE_CHARS  # room kept for the closing notes


class ReadFileParams(Params):
    """Parameters of read_file."""

    path: Annotated[PathText, Field(description="File, relative to the working directory or absolute inside it.")]
    offset: Annotated[int, Field(ge=1, description="First line to show; the first line of a file is 1.")] = 1
    limit: Annotated[int | None, Field(ge=1, description="Most lines to show. Default: as many as fit.")] = None


class ReadFile(ParsedTool[ReadFileParams]):
    """Show a text file with line numbers."""

    params_model = ReadFileParams

    def __init__(self) -> None:
        super().__init__(
            ToolDeclaration(
                name="read_file",
                description=(
                    "Read a UTF-8 text file of at most 10 MB. Lines are numbered (number, tab, line). What"
                    " does not fit is"
                    " left out and counted: go on with offset. A file must be read (or written) before it can"
                    " be edited. An image (png, jpeg, gif, webp) or a PDF is shown as it is."
                ),
                input_schema=input_schema(ReadFileParams),
                effect_class=EffectClass.PURE,
                side_effecting=False,
                timeout_s=FILE_TIMEOUT_S,
                traits=BUILTIN_TRAITS["read_file"],
            )
        )

    def carry_out(self, params: ReadFileParams, context: ToolContext) -> ToolResult:
        """Read, decode, number, and stop at whole lines."""
        place = resolve(params.path, context.working_dir)
        raw = read_raw_or_none(place)
        if raw is None:
            missing = os_failure("read", place.shown, FileNotFoundError(errno.ENOENT, ""), place=place)
            return ToolResult(text=str(missing), is_error=True, file=absent(place, context))
        if media_kind(raw.data) is not None:
            return _seen(raw.data, place, context)
        file = decode(raw.data, place.shown)
        sight = written(place, SightKind.READ, raw.data, context)
        if not file.text:
            return ToolResult(text=f"[{place.shown} is empty]", file=sight)
        lines = split_lines(file.text)
        if params.offset > len(lines):
            raise ToolCallError(
                f"{place.shown} has {len(lines)} lines; offset {params.offset} is past its end. Use an offset"
                f" of 1 to {len(lines)}."
            )
        limit_chars = min(context.output_limit_chars, self.declaration.output_limit_chars)
        shown, next_line = numbered_lines(lines, params.offset, params.limit, limit_chars - _NOTE_CHARS, context.redact)
        notes = []
        if file.line_end is not LineEnd.LF:
            notes.append(f"[line ends: {file.line_end.value}; edit keeps them]")
        if unseen := unseen_note(lines[params.offset - 1 : next_line - 1], params.offset):
            notes.append(unseen)
        if next_line <= len(lines):
            notes.append(f"[{len(lines) - next_line + 1} lines left out below; go on with offset={next_line}]")
        sight = sight.model_copy(update=_shown_lines(lines, params.offset, next_line, shown))
        return ToolResult(text="\n".join([*shown, *notes]), file=sight)


def _seen(data: bytes, place: ResolvedPath, context: ToolContext) -> ToolResult:
    """A file that is an image or a document, as one: it has no lines, and is shown whole."""
    try:
        found = attachment_of(data, context.redact(place.shown))
    except BadInput as error:
        raise ToolCallError(str(error)) from None
    return ToolResult(text=label(found), file=written(place, SightKind.READ, data, context), media=(found,))


def _shown_lines(lines: list[str], offset: int, next_line: int, shown: list[str]) -> dict[str, int | None]:
    """Fields of the sight: the lines that were shown as they are; none where one was shortened or lost a secret."""
    if shown != number_lines(lines[offset - 1 : next_line - 1], offset):
        return {"first_line": offset, "last_line": offset - 1}
    return {"first_line": offset, "last_line": next_line - 1 if next_line <= len(lines) else None}


def split_lines(text: str) -> list[str]:
    """Lines as an editor counts them: ended by LF or CRLF, no empty one after the last end."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if text.endswith("\n") else lines


class ListDirectoryParams(Params):
    """Parameters of list_directory."""

    path: Annotated[PathText, Field(description="Directory; `.` for the working directory.")]


class ListDirectory(ParsedTool[ListDirectoryParams]):
    """List one directory."""

    params_model = ListDirectoryParams

    def __init__(self) -> None:
        super().__init__(
            ToolDeclaration(
                name="list_directory",
                description="List a directory, sorted by name: `name/` is a directory, `name@` a link, a file"
                " has its size in bytes.",
                input_schema=input_schema(ListDirectoryParams),
                effect_class=EffectClass.PURE,
                side_effecting=False,
                timeout_s=FILE_TIMEOUT_S,
                traits=BUILTIN_TRAITS["list_directory"],
            )
        )

    def carry_out(self, params: ListDirectoryParams, context: ToolContext) -> ToolResult:
        """One line an entry, at most MAX_ENTRIES_SHOWN."""
        place = resolve(params.path, context.working_dir)
        try:
            with place.holder() as (fd, name):
                _require_directory(place, os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
                with beneath.readable(fd, name) as opened, os.scandir(opened) as found:
                    entries = sorted(islice(found, _MAX_ENTRIES_READ), key=lambda entry: entry.name)
                    lines = [_describe(entry) for entry in entries[:MAX_ENTRIES_SHOWN]]
        except OSError as error:
            raise os_failure("list", place.shown, error, place=place) from error
        if not entries:
            return ToolResult(text=f"[{place.shown} is an empty directory]")
        if len(entries) > MAX_ENTRIES_SHOWN:
            count = f"{len(entries) - MAX_ENTRIES_SHOWN}{' or more' if len(entries) == _MAX_ENTRIES_READ else ''}"
            lines.append(f"[{count} entries left out; use glob with a pattern]")
        if unseen := unseen_note(lines):
            lines.append(unseen)
        return ToolResult(text="\n".join(lines))


def _require_directory(place: ResolvedPath, mode: int) -> None:
    if stat.S_ISLNK(mode):  # the path was resolved: it was none then
        raise OSError(beneath.EXCHANGED, "replaced meanwhile")
    if not stat.S_ISDIR(mode):
        raise ToolCallError(
            f"Could not list {place.shown}: it is a file, not a directory. Use read_file, or name a directory."
        )


def _describe(entry: os.DirEntry[str]) -> str:
    # A newline in a name would pass for a second entry.
    name = printable(entry.name).replace("\n", "\\n")
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:
        return f"{name} (vanished)"
    if stat.S_ISLNK(info.st_mode):
        return f"{name}@"
    if stat.S_ISDIR(info.st_mode):
        return f"{name}/"
    if stat.S_ISREG(info.st_mode):
        return f"{name} {info.st_size}"
    return f"{name} (special file)"
