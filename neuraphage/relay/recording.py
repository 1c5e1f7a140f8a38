"""The answer to one call while it comes: kept in a file, served to any number of readers from any offset.

A full disk loses no reply that is being paid for: what cannot be written is kept in memory and served from there. Then
the files do not hold all of it, so its end is not written, and it is lost with this process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import zlib
from pathlib import Path

import orjson

from neuraphage.private_files import make_private, write_new_private
from neuraphage.relay.entry import BODY, END, HEAD, CallEntry, End, Head

log = logging.getLogger(__name__)


class Recording:
    """What has come of one answer.

    Args:
        entry: where it is kept; it was begun by this process.
        most_bytes: of the body.
    """

    def __init__(self, entry: CallEntry, most_bytes: int) -> None:
        self.head: Head | None = None
        self.ended: End | None = None
        self.size_bytes = 0
        self.is_stored = False
        """Whether what a worker has made of the answer is stored: the files are of no use any more."""
        self._entry = entry
        self._most_bytes = most_bytes
        self._written_bytes = 0
        self._kept = bytearray()
        self._crc = 0
        self._changed = asyncio.Event()
        self._file = -1
        try:
            self._file = make_private(entry.path / BODY, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            self._not_kept(error)

    def begin(self, head: Head) -> None:
        """Take in what the answer begins with."""
        self.head = head
        self._write(self._entry.path / HEAD, head.as_json())
        self.tell()

    def add(self, data: bytes) -> None:
        """Take in a piece of the body.

        Raises:
            OverflowError: the body is longer than may be; nothing of the piece is kept.
        """
        if self.size_bytes + len(data) > self._most_bytes:
            raise OverflowError(f"the answer is longer than {self._most_bytes} bytes")
        self.size_bytes += len(data)
        self._crc = zlib.crc32(data, self._crc)
        if self._file >= 0 and not self._kept:
            try:
                written_bytes = os.write(self._file, data)
            except OSError as error:
                self._not_kept(error)
                written_bytes = 0
            self._written_bytes += written_bytes
            data = data[written_bytes:]
        self._kept += data
        self.tell()

    async def finish(self, fault: str = "", text: str = "") -> None:
        """Note how it ended. Who reads is told of a whole answer when all of it is on the disk.

        Args:
            fault: name of the exception that broke it off; empty for none.
            text: of the exception.
        """
        end = End(fault, text, self.size_bytes, self._crc)
        if self._file >= 0 and not self._kept:
            try:
                await asyncio.to_thread(os.fsync, self._file)
            except OSError as error:
                self._not_kept(error)
            else:
                self._write(self._entry.path / END, end.as_json())
        self.ended = end
        self.tell()

    def read(self, offset: int, most_bytes: int) -> bytes:
        """Bytes of the body from an offset on; empty for none yet."""
        if offset < self._written_bytes:
            return os.pread(self._file, min(most_bytes, self._written_bytes - offset), offset)
        begin = offset - self._written_bytes
        return bytes(self._kept[begin : begin + most_bytes])

    async def change(self) -> None:
        """Wait until there is more than there was."""
        await self._changed.wait()

    def close(self) -> None:
        """Let the file go; nobody may read any more."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def tell(self) -> None:
        """Have all readers look again."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _write(self, path: Path, value: object) -> None:
        try:
            write_new_private(path, orjson.dumps(value))
        except OSError as error:
            self._not_kept(error)

    def _not_kept(self, error: OSError) -> None:
        log.warning(
            "the relay cannot keep an answer in %s, so it is lost if the relay dies: %s", self._entry.path, error
        )
