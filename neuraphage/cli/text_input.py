"""A prompt, a message or an answer that comes from a file, from standard input or from an editor: all of it or none."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from neuraphage.cli.console import err
from neuraphage.errors import BadInput
from neuraphage.model.task import TEXT_MAX_CHARS

STDIN = "-"
MAX_BYTES = 4 * TEXT_MAX_CHARS
"""UTF-8 takes up to four bytes a character."""
EDITOR = "vi"
"""As POSIX has it, when nobody has chosen one."""

TextFile = Annotated[
    Path | None, typer.Option("--file", help="Read it from this UTF-8 file, or with - from standard input.")
]
Edit = Annotated[bool, typer.Option("--edit", help="Write it in your editor ($VISUAL or $EDITOR).")]


def given_text(what: str, argument: str | None, file: Path | None, *, edit: bool = False, about: str = "") -> str:
    """The text that a call gives, wherever it is.

    Args:
        what: its name for people.
        argument: as given; `-` is standard input.
        file: or in this file.
        edit: or to be written in the editor.
        about: what the editor shows below the text, as a comment.

    Raises:
        BadInput: it is given twice or not at all, empty, too long or not UTF-8, or cannot be read.
    """
    if sum((argument is not None, file is not None, edit)) != 1:
        raise BadInput(f"give {what} once: as an argument, with --file, or where there is one with --edit")
    if edit:
        text = _edited(what, about)
    elif file is not None:
        text = text_of(what, file)
    elif argument in (None, STDIN):
        text = _of_stdin(what, MAX_BYTES)
    else:
        text = argument or ""
    if not text.strip():
        raise BadInput(f"{what} is empty; nothing was sent")
    if len(text) > TEXT_MAX_CHARS:
        raise BadInput(f"{what} has {len(text)} characters, the limit is {TEXT_MAX_CHARS}; shorten it")
    return text


def text_of(what: str, file: Path, most_bytes: int = MAX_BYTES) -> str:
    """The text of a file.

    Args:
        what: its name for people.
        file: which; `-` is standard input.
        most_bytes: a longer one is refused, and no more of it is read.

    Raises:
        BadInput: it is too long or not UTF-8, or cannot be read.
    """
    if str(file) == STDIN:
        return _of_stdin(what, most_bytes)
    try:
        with file.open("rb") as stream:
            return _decoded(what, str(file), stream, most_bytes)
    except OSError as error:
        raise BadInput(f"{what} cannot be read from {file}: {error.strerror or error}") from None


def _of_stdin(what: str, most_bytes: int) -> str:
    if sys.stdin is None:
        raise BadInput(f"{what} should come from standard input, which is closed")
    if sys.stdin.isatty():
        err.print(f"write {what}, and end it with Ctrl-D on a line of its own:")
    try:
        return _decoded(what, "standard input", sys.stdin.buffer, most_bytes)
    except (OSError, ValueError) as error:
        raise BadInput(f"{what} cannot be read from standard input: {error}") from None


def _decoded(what: str, where: str, stream: BinaryIO, most_bytes: int) -> str:
    raw = stream.read(most_bytes + 1)
    if len(raw) > most_bytes:
        raise BadInput(f"{what} in {where} has more than {most_bytes} bytes; shorten it")
    try:
        text = raw.decode("utf-8-sig")  # with or without a byte order mark
    except UnicodeDecodeError as error:
        raise BadInput(f"{what} in {where} is not UTF-8 text (byte {error.start + 1}); write it in UTF-8") from None
    return text.replace("\r\n", "\n").rstrip("\n")


def _edited(what: str, about: str) -> str:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("--edit needs a terminal; give a file with --file")
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or EDITOR
    with tempfile.TemporaryDirectory(prefix="neuraphage-") as folder:  # only its owner may look into it
        file = Path(folder) / "text.md"
        told = [f"Write {what} above. Lines that begin like this one are left out.", *about.split("\n")]
        marked = "".join(f"{COMMENT} {line}\n" for line in told)
        file.write_text(f"\n{marked}", encoding="utf-8")
        try:
            command = [*shlex.split(chosen), str(file)]
            code = subprocess.run(command, check=False).returncode  # noqa: S603 - the person's own editor
        except (OSError, ValueError) as error:
            raise BadInput(f"the editor {chosen!r} did not start: {error}; set $EDITOR or use --file") from None
        if code != 0:
            raise BadInput(f"the editor {chosen!r} ended with exit code {code}; nothing was sent")
        lines = text_of(what, file).split("\n")
    return "\n".join(line for line in lines if not line.startswith(COMMENT)).strip("\n")


COMMENT = "#|"
