"""One answer as a worker reads it: from the relay that holds the call, or from the files once it is over.

A reader looks every tenth of a second whether it is to stop. Whatever becomes of the reader, the call goes on.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

from neuraphage.model.detached import DetachedState
from neuraphage.relay import frames
from neuraphage.relay.entry import CallEntry
from neuraphage.relay.frames import BadFrame, FrameBuffer
from neuraphage.relay.kept import End, Head, end_from, head_from

POLL_S = 0.1
READ_BYTES = 128 * 1024
_CUT = "the connection to the relay ended"


class AnswerLost(Exception):
    """The relay that held the call is gone, and the files do not hold all of the answer."""


class AnswerSilent(Exception):
    """The relay says nothing any more, not even that the provider is silent."""


class Stream:
    """Frames from a connection, read by a thread that may be told to stop.

    Args:
        connection: to a relay.
        poll: called several times a second; what it raises ends the reading.
        silence_s: longest wait for the next frame.
    """

    def __init__(self, connection: socket.socket, poll: Callable[[], None], silence_s: float) -> None:
        self._connection = connection
        self._connection.settimeout(POLL_S)
        self._poll = poll
        self._silence_s = silence_s
        self._polled_s = time.monotonic()
        self._buffer = FrameBuffer()

    @property
    def taken_bytes(self) -> int:
        """Of the frames that were read."""
        return self._buffer.taken_bytes

    def frame(self, limit_s: float | None = None) -> tuple[int, bytes]:
        """The next frame.

        Args:
            limit_s: longest wait for it; None for that of the stream.

        Raises:
            ConnectionError: the connection ended, or what came is no frame.
            AnswerSilent: nothing came for so long.
        """
        now_s = time.monotonic()
        until_s = now_s + (self._silence_s if limit_s is None else limit_s)
        if now_s - self._polled_s > POLL_S:  # frames may come without a pause
            self._polled_s = now_s
            self._poll()
        try:
            while (frame := self._buffer.next()) is None:
                self._buffer.add(self._some(until_s))
        except BadFrame as error:
            raise ConnectionError(str(error)) from None
        return frame

    def _some(self, until_s: float) -> bytes:
        while True:
            try:
                data = self._connection.recv(READ_BYTES)
            except TimeoutError:
                self._poll()
                if time.monotonic() > until_s:
                    raise AnswerSilent(f"the relay said nothing for {self._silence_s:g} s") from None
                continue
            if not data:
                self._poll()  # what hung up may be ourselves
                raise ConnectionError(_CUT)
            return data


class Answer:
    """An answer: first its head, then its body, then how it ended.

    Args:
        entry: what is kept of it.
        stream: from the relay that holds it, behind its word that it has the call; None reads the files alone.
        is_alive: asked whether the relay that took the call lives, when its connection has ended.
    """

    def __init__(self, entry: CallEntry, stream: Stream | None, is_alive: Callable[[], bool]) -> None:
        self._entry = entry
        self._stream = stream
        self._is_alive = is_alive
        self._files: FrameBuffer | None = None
        self.ended: End | None = None
        """Set when all of it was read."""

    def head(self) -> Head | End:
        """What the answer begins with, or how the call ended without one.

        Raises:
            AnswerLost, AnswerSilent: see there.
        """
        kind, content = self._frame()
        try:
            value = frames.parsed(content) if kind == frames.JSON else {}
            if "state" in value:  # the first frame of a file, which the relay sends, too
                return self.head()
            return head_from(value["head"]) if "head" in value else self._over(end_from(value["end"]))
        except (BadFrame, KeyError, TypeError, ValueError) as error:
            raise AnswerLost(f"what the relay said is no answer: {error!r}") from None

    def body(self) -> Iterator[bytes]:
        """The body in pieces, to its end; `ended` is set then.

        Raises:
            AnswerLost, AnswerSilent: see there.
        """
        while True:
            kind, content = self._frame()
            if kind == frames.DATA:
                yield content
                continue
            try:
                self._over(end_from(frames.parsed(content)["end"]))
            except (BadFrame, KeyError, TypeError, ValueError) as error:
                raise AnswerLost(f"what the relay said is no answer: {error!r}") from None
            return

    def _frame(self) -> tuple[int, bytes]:
        """The next frame: from the relay, or where that is gone from the file, which goes on where it ended."""
        if self._stream is not None:
            try:
                return self._stream.frame()
            except ConnectionError:
                offset, self._stream = self._stream.taken_bytes, None
                self._files = self._rest(offset)
        if self._files is None:
            self._files = self._rest(0)
        try:
            frame = self._files.next()
        except BadFrame as error:
            raise AnswerLost(f"what is kept is no answer: {error}") from None
        if frame is None:
            raise AnswerLost("what is kept has no end")
        return frame

    def _rest(self, offset: int) -> FrameBuffer:
        """What the file holds from an offset on: all of an answer that is over."""
        if self._entry.state(is_alive=self._is_alive()) is not DetachedState.DONE:
            raise AnswerLost("the relay that held the call is gone, and with it the rest of the answer")
        buffer = FrameBuffer()
        try:
            buffer.add(self._entry.rest(offset))
        except OSError as error:
            raise AnswerLost(f"the answer cannot be read: {error.strerror or error}") from None
        return buffer

    def _over(self, end: End) -> End:
        self.ended = end
        return end
