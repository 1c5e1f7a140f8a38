"""What is kept of one call: a folder that is made whole at once, so that each call id is decided exactly once.

    CALL-ID/call.json   the relay that sends it (its socket), the task, when it was taken; no header and no body
    CALL-ID/head.json   status and headers of the answer
    CALL-ID/body        the answer as it came; it holds what the model wrote, so it is of this user alone
    CALL-ID/end.json    how it ended, with length and checksum of the body: what a power cut has torn is not believed
    CALL-ID/sealed      instead of all these: it is never sent by a relay, with the reason

Reading changes nothing. A record that is missing or torn says that the call is lost, never that it was whole.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from neuraphage.errors import RelayError
from neuraphage.model.detached import DetachedState
from neuraphage.private_files import private_folder, write_new_private

NEVER = "never"
"""Sealed before anybody sent it: it was not sent, and never will be."""
DIRECT = "direct"
"""Sealed by a worker that sends the request itself: whether it was sent is not known here."""
CALL, HEAD, BODY, END, SEALED = "call.json", "head.json", "body", "end.json", "sealed"
CALL_ID = re.compile(r"[0-9a-f]{16,64}")
_MADE = ".made-"


@dataclass(frozen=True, slots=True)
class End:
    """How a call ended.

    Args:
        fault: name of the HTTP client's exception that broke it off; empty for an answer that came to its end.
        text: of the exception.
        body_bytes: of the answer.
        crc: CRC-32 of the body.
    """

    fault: str = ""
    text: str = ""
    body_bytes: int = 0
    crc: int = 0

    def as_json(self) -> dict[str, Any]:
        """As it is stored and sent."""
        return {"fault": self.fault, "text": self.text, "body_bytes": self.body_bytes, "crc": self.crc}


@dataclass(frozen=True, slots=True)
class Head:
    """What an answer begins with.

    Args:
        status: of HTTP.
        headers: in order.
    """

    status: int
    headers: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, Any]:
        """As it is stored and sent."""
        return {"status": self.status, "headers": self.headers}


def end_from(value: Mapping[str, Any]) -> End:
    """Read what `End.as_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    return End(str(value["fault"]), str(value["text"]), int(value["body_bytes"]), int(value["crc"]))


def head_from(value: Mapping[str, Any]) -> Head:
    """Read what `Head.as_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    return Head(int(value["status"]), tuple((str(name), str(text)) for name, text in value["headers"]))


class CallEntry:
    """The folder of one call id.

    Args:
        path: the folder; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, relay: str, task_id: str, at_ms: int) -> bool:
        """Take the call, unless it was taken or sealed before.

        Args:
            relay: name of the socket of the relay that sends it.
            task_id: whose call it is, for people who look at the folder.
            at_ms: Unix milliseconds.

        Returns:
            Whether it is this one's to send.

        Raises:
            OSError: it cannot be written.
        """
        return self._decide(CALL, orjson.dumps({"relay": relay, "task": task_id, "at_ms": at_ms}))

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
            return self._decide(SEALED, why.encode())
        except OSError as error:
            raise RelayError(
                f"cannot seal the model call {self.path}: {error.strerror or error}; check the space and the rights of"
                " the data folder"
            ) from error

    def state(self, is_alive: bool | None = None) -> DetachedState:
        """What is known of it.

        Args:
            is_alive: whether the relay that took it lives; None while nobody has asked, then it counts as alive.
        """
        if (self.path / SEALED).exists():
            return DetachedState.SEALED
        if not (self.path / CALL).exists():
            return DetachedState.ABSENT
        if (self.path / END).exists():
            return DetachedState.LOST if self.end() is None else DetachedState.DONE
        return DetachedState.LOST if is_alive is False else DetachedState.RUNNING

    def sealed_by(self) -> str:
        """NEVER or DIRECT; empty when it is not sealed, or nobody can tell."""
        try:
            return (self.path / SEALED).read_text(encoding="ascii", errors="replace")
        except OSError:
            return ""

    def relay(self) -> str:
        """Name of the socket of the relay that took it; empty when nobody can tell."""
        found = _read(self.path / CALL).get("relay")
        return found if isinstance(found, str) and "/" not in found else ""

    def head(self) -> Head | None:
        """What the answer began with; None for none."""
        try:
            return head_from(_read(self.path / HEAD))
        except (KeyError, TypeError, ValueError):
            return None

    def end(self) -> End | None:
        """How it ended; None while it goes on, and when the body is not the one that the end tells of."""
        try:
            end = end_from(_read(self.path / END))
            body = (self.path / BODY).read_bytes()
        except (KeyError, TypeError, ValueError, OSError):
            return None
        return end if (len(body), zlib.crc32(body)) == (end.body_bytes, end.crc) else None

    def body(self) -> bytes:
        """All of the answer that is there.

        Raises:
            OSError: it cannot be read.
        """
        return (self.path / BODY).read_bytes()

    def remove(self) -> None:
        """Delete it, in one step for all who look."""
        gone = self.path.with_name(f"{_MADE}{secrets.token_hex(8)}")
        with suppress(OSError):
            self.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _decide(self, name: str, text: bytes) -> bool:
        """Put a folder with this file in place, unless there is one: a rename replaces no folder that holds a file."""
        made = self.path.with_name(f"{_MADE}{secrets.token_hex(8)}")
        private_folder(made)
        try:
            write_new_private(made / name, text)
            made.rename(self.path)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            if self.path.exists():
                return False
            raise
        return True


def entries_in(root: Path) -> list[CallEntry]:
    """All calls of a folder; what was left half made is left out."""
    try:
        names = sorted(os.listdir(root))  # noqa: PTH208 - names alone, of which there may be many
    except FileNotFoundError:
        return []
    return [CallEntry(root / name) for name in names if CALL_ID.fullmatch(name)]


def _read(path: Path) -> dict[str, Any]:
    """What a record holds; empty when it is missing or torn."""
    try:
        value = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return value if isinstance(value, dict) else {}
