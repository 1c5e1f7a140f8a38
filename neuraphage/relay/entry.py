"""What is kept of one call: a folder that is made whole at once, so that each call id is decided exactly once.

    CALL-ID/answer   what readers are sent, frame by frame: who sends the call (a relay's socket), the task, and when
                     it was taken; status and headers of the answer; its body as it came; how it ended, with length and
                     checksum of all before it: what a power cut has torn is not believed
    CALL-ID/sealed   instead: it is never sent by a relay, with the reason

No header and no body of the request is kept. The answer is what the model wrote, so it is of this user alone. Reading
changes nothing. A file that is missing or torn says that the call is lost, never that it was whole.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from neuraphage.errors import RelayError
from neuraphage.model.detached import DetachedState
from neuraphage.private_files import FOLDER_MODE, make_private, private_folder
from neuraphage.relay import frames
from neuraphage.relay.kept import Kept, kept_of

NEVER = "never"
"""Sealed before anybody sent it: it was not sent, and never will be."""
DIRECT = "direct"
"""Sealed by a worker that sends the request itself: whether it was sent is not known here."""
ANSWER, SEALED = "answer", "sealed"
CALL_ID = re.compile(r"[0-9a-f]{16,64}")
_MADE = ".made-"
_FIRST_BYTES = 4_096
"""The first frame is shorter."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that this process has taken.

    Args:
        path: of its file.
        file: descriptor of that, to write at its end and to read.
        first: what is in it: the frame that says who has taken the call.
    """

    path: Path
    file: int
    first: bytes


class CallEntry:
    """The folder of one call id.

    Args:
        path: the folder; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, relay: str, task_id: str, at_ms: int) -> Begun | None:
        """Take the call, unless it was taken or sealed before.

        Args:
            relay: name of the socket of the relay that sends it.
            task_id: whose call it is, for people who look at the folder.
            at_ms: Unix milliseconds.

        Returns:
            What it is written to; None where it is not this one's to send.

        Raises:
            OSError: it cannot be written.
        """
        first = frames.json_frame({"state": "running", "relay": relay, "task": task_id, "at_ms": at_ms})
        file = self._decide(ANSWER, first)
        return None if file is None else Begun(self.path / ANSWER, file, first)

    def seal(self, why: str) -> bool:
        """Keep every relay from sending it, unless one has taken it.

        Args:
            why: NEVER or DIRECT.

        Returns:
            Whether this sealed it.

        Raises:
            RelayError: the seal cannot be written.
        """
        try:
            private_folder(self.path.parent)
            file = self._decide(SEALED, why.encode())
        except OSError as error:
            raise RelayError(
                f"cannot seal the model call {self.path}: {error.strerror or error}; check the space and the rights of"
                " the data folder"
            ) from error
        if file is None:
            return False
        os.close(file)
        return True

    def state(self, is_alive: bool | None = None) -> DetachedState:
        """What is known of it.

        Args:
            is_alive: whether the relay that took it lives; None while nobody has asked, then it counts as alive.
        """
        if (self.path / SEALED).exists():
            return DetachedState.SEALED
        if not (self.path / ANSWER).exists():
            return DetachedState.ABSENT
        kept = self.kept()
        if kept.end is not None:
            return DetachedState.DONE
        return DetachedState.LOST if kept.is_torn or is_alive is False else DetachedState.RUNNING

    def sealed_by(self) -> str:
        """NEVER or DIRECT; empty when it is not sealed, or nobody can tell."""
        try:
            return (self.path / SEALED).read_text(encoding="ascii", errors="replace")
        except OSError:
            return ""

    def relay(self) -> str:
        """Name of the socket of the relay that took it; empty when nobody can tell."""
        try:
            with (self.path / ANSWER).open("rb") as file:
                return kept_of(file.read(_FIRST_BYTES)).relay
        except OSError:
            return ""

    def kept(self) -> Kept:
        """All of the answer that is there."""
        try:
            return kept_of((self.path / ANSWER).read_bytes())
        except OSError:
            return Kept()

    def rest(self, offset: int) -> bytes:
        """The frames of an answer that is over, from an offset on.

        Raises:
            OSError: they cannot be read.
        """
        with (self.path / ANSWER).open("rb") as file:
            file.seek(offset)
            return file.read()

    def remove(self) -> None:
        """Delete it; a reader that has its file open reads on."""
        with suppress(OSError):
            try:
                (self.path / ANSWER).unlink()
            except FileNotFoundError:
                (self.path / SEALED).unlink()
            self.path.rmdir()  # unless somebody has decided it anew since

    def _decide(self, name: str, text: bytes) -> int | None:
        """Put a folder with this file in place, unless there is one: a rename replaces no folder that holds a file.

        Returns:
            The file, open; None for who came late.
        """
        made = self.path.with_name(f"{_MADE}{secrets.token_hex(8)}")
        made.mkdir(mode=FOLDER_MODE)
        made.chmod(FOLDER_MODE)  # the umask may have taken even that away
        file = -1
        try:
            file = make_private(made / name, os.O_RDWR | os.O_APPEND)
            _write_whole(file, text)
            made.rename(self.path)
        except BaseException as error:
            if file >= 0:
                os.close(file)
            shutil.rmtree(made, ignore_errors=True)
            if isinstance(error, OSError) and self.path.exists():
                return None
            raise
        return file


def _write_whole(file: int, text: bytes) -> None:
    if os.write(file, text) != len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def entries_in(root: Path) -> list[CallEntry]:
    """All calls of a folder; what was left half made is left out."""
    try:
        names = sorted(os.listdir(root))  # noqa: PTH208 - names alone, of which there may be many
    except FileNotFoundError:
        return []
    return [CallEntry(root / name) for name in names if CALL_ID.fullmatch(name)]
