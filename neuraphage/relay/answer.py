"""One answer as a worker reads it: from the relay that holds the call, or from the files once it is over.

A reader looks every tenth of a second whether it is to stop. Whatever becomes of the reader, the call goes on.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

from neuraphage.model.detached import DetachedState
from neuraphage.relay import frames
from neuraphage.relay.entry import CallEntry, End, Head, end_from, head_from
from neuraphage.relay.frames import BadFrame

POLL_S = 0.1
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
            kind, size_bytes = frames.checked(
                self._exactly(frames.HEADER.size, until_s), (frames.JSON, frames.DATA), frames.MAX_JSON_BYTES
            )
        except BadFrame as error:
            raise ConnectionError(str(error)) from None
        return kind, self._exactly(size_bytes, until_s)

    def _exactly(self, size_bytes: int, until_s: float) -> bytes:
        parts: list[bytes] = []
        while size_bytes:
            try:
                part = self._connection.recv(size_bytes)
            except TimeoutError:
                self._poll()
                if time.monotonic() > until_s:
                    raise AnswerSilent(f"the relay said nothing for {self._silence_s:g} s") from None
                continue
            if not part:
                self._poll()  # what hung up may be ourselves
                raise ConnectionError(_CUT)
            parts.append(part)
            size_bytes -= len(part)
        return b"".join(parts)


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
        self._offset = 0
        self.ended: End | None = None
        """Set when all of it was read."""

    def head(self) -> Head | End:
        """What the answer begins with, or how the call ended without one.

        Raises:
            AnswerLost, AnswerSilent: see there.
        """
        if self._stream is not None:
            try:
                _, text = self._stream.frame()
                value = frames.parsed(text)
                if "head" in value:
                    return head_from(value["head"])
                return self._over(end_from(value["end"]))
            except ConnectionError:
                self._stream = None
            except (BadFrame, KeyError, TypeError, ValueError) as error:
                raise AnswerLost(f"what the relay said is no answer: {error!r}") from None
        end = self._end_of_files()
        head = self._entry.head()
        if head is None and not end.fault:
            raise AnswerLost("the files hold no head of the answer")
        return self._over(end) if head is None else head

    def body(self) -> Iterator[bytes]:
        """The body in pieces, to its end; `ended` is set then.

        Raises:
            AnswerLost, AnswerSilent: see there.
        """
        while self._stream is not None:
            try:
                kind, data = self._stream.frame()
                if kind == frames.JSON:
                    self._over(end_from(frames.parsed(data)["end"]))
                    return
            except ConnectionError:
                self._stream = None
                break
            except (BadFrame, KeyError, TypeError, ValueError) as error:
                raise AnswerLost(f"what the relay said is no answer: {error!r}") from None
            self._offset += len(data)
            yield data
        end = self._end_of_files()
        try:
            rest = self._entry.body()[self._offset :]
        except OSError as error:
            raise AnswerLost(f"the answer cannot be read: {error.strerror or error}") from None
        if rest:
            yield rest
        self._over(end)

    def _end_of_files(self) -> End:
        """How it ended, from the files: they hold all of an answer that is over."""
        if self._entry.state(is_alive=self._is_alive()) is DetachedState.DONE and (end := self._entry.end()):
            return end
        raise AnswerLost("the relay that held the call is gone, and with it the rest of the answer")

    def _over(self, end: End) -> End:
        self.ended = end
        return end
