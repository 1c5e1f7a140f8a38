"""The answer to one call while it comes: kept in one file, served to any number of readers from any offset.

The file is what readers are sent, byte for byte. A full disk loses no reply that is being paid for: what cannot be
written is kept in memory and served from there. Then the file lacks it, and the answer is lost with this process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import zlib

from neuraphage.relay import frames
from neuraphage.relay.entry import Begun
from neuraphage.relay.kept import End, Head

log = logging.getLogger(__name__)


class Recording:
    """What has come of one answer.

    Args:
        begun: its file, which this process has begun.
        most_bytes: of the body.
    """

    def __init__(self, begun: Begun, most_bytes: int) -> None:
        self.head: Head | None = None
        self.ended: End | None = None
        self.size_bytes = len(begun.first)
        """Of all frames."""
        self.stored = asyncio.Event()
        """What a worker has made of the answer is stored: the file is of no use any more."""
        self._begun = begun
        self._file = begun.file
        self._left_bytes = most_bytes
        self._written_bytes = len(begun.first)
        self._crc = zlib.crc32(begun.first)
        self._kept = bytearray()
        self._changed = asyncio.Event()

    def begin(self, head: Head) -> None:
        """Take in what the answer begins with."""
        self.head = head
        self._append(frames.json_frame({"head": head.as_json()}))

    def add(self, data: bytes) -> None:
        """Take in a piece of the body.

        Raises:
            OverflowError: the body is longer than may be; nothing of the piece is kept.
        """
        if len(data) > self._left_bytes:
            raise OverflowError("the answer is longer than a relay keeps")
        self._left_bytes -= len(data)
        self._append(frames.data_frames(data))

    def finish(self, fault: str = "", text: str = "") -> None:
        """Note how it ended.

        Args:
            fault: name of the exception that broke it off; empty for none.
            text: of the exception.
        """
        self.ended = End(fault, text, self.size_bytes, self._crc)
        self._append(frames.json_frame({"end": self.ended.as_json()}))

    async def sync(self) -> None:
        """Have the file on the disk, whole."""
        if self._file >= 0 and not self._kept:
            try:
                await asyncio.to_thread(os.fsync, self._file)
            except OSError as error:
                self._not_kept(error)

    def read(self, offset: int, most_bytes: int) -> bytes:
        """Bytes of the frames from an offset on; empty for none yet."""
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

    def _append(self, data: bytes) -> None:
        self.size_bytes += len(data)
        self._crc = zlib.crc32(data, self._crc)
        if not self._kept:
            try:
                written_bytes = os.write(self._file, data)
            except OSError as error:
                self._not_kept(error)
                written_bytes = 0
            self._written_bytes += written_bytes
            data = data[written_bytes:]
        self._kept += data
        self.tell()

    def _not_kept(self, error: OSError) -> None:
        log.warning(
            "the relay cannot keep an answer in %s, so it is lost if the relay dies: %s", self._begun.path, error
        )
