"""Shows viewers a reply while it streams. It may fail or be slow: the reply itself must not.

While nobody watches, what there is of the reply is kept, and nothing is sent. Who comes late gets all of it; and of a
reply that a former worker has begun to show, the rest. A reply that pauses is sent as far as it has come.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Self

from neuraphage.ports import Delta
from neuraphage.runtime.live_pauses import PAUSE_S, PAUSES
from neuraphage.runtime.live_text import TOOL, LiveText
from neuraphage.runtime.services import Services

log = logging.getLogger(__name__)

FLUSH_S = 0.1
"""Deltas are shown in bundles of this length."""
SLOW_S = 1.0
"""When a bundle takes so long, nothing more of this reply is shown before it is complete."""
PIECE_CHARS = 8_000
"""What was kept is sent in pieces of about this length."""


class LiveView:
    """What viewers see of one reply. Entered while it streams; a thread of its own looks whether it pauses.

    Args:
        services: the store, the clock and the redaction.
        task_id: whose reply it is.
        call: names the call; the same for a worker that goes on with it.
    """

    def __init__(self, services: Services, task_id: str, call: str) -> None:
        self._services = services
        self._task_id = task_id
        self._call = call
        self._text = LiveText(services.redaction)
        self._showing = True
        self._watched = False
        self._kept: list[Delta] = []
        """What nobody has been shown."""
        self._end = 0
        self._flushed_s = 0.0
        self._piece_s: float | None = None
        """When the last piece came that was not sent with all that is before it; None when nothing waits."""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        PAUSES.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        PAUSES.remove(self)
        with self._lock:
            self._showing = False

    def show(self, delta: Delta) -> None:
        """Take in a piece; send what is due. The model client guards the stream against what this raises."""
        with self._lock:
            if not self._showing:
                return
            self._text.add(delta)
            now_s = self._piece_s = self._services.clock.boottime_s()
            if now_s - self._flushed_s >= FLUSH_S:
                self._flushed_s = now_s
                self._publish(self._text.take())

    def paused(self) -> None:
        """Send what there is, if no piece has come for a while. See live_pauses.Pausing."""
        with self._lock:
            now_s, piece_s = self._services.clock.boottime_s(), self._piece_s
            if not self._showing or piece_s is None or now_s - piece_s < PAUSE_S:
                return
            self._piece_s = now_s  # while nobody watches there is more to send, and it is looked again
            self._publish(self._text.take())

    def end(self) -> None:
        """Send the rest, once the reply is noted. Observers fail open: it is paid and not yet stored."""
        try:
            with self._lock:
                self._publish(self._text.end())
        except Exception:  # whatever it is, it must not lose the reply
            log.warning("showing the end of a reply failed", exc_info=True)

    def _publish(self, pieces: list[Delta]) -> None:
        for piece in pieces:
            self._end += len(piece.text)
            self._kept.append(Delta(piece.kind, piece.text, self._call, self._end))
        if not self._kept:
            self._piece_s = None
        if not self._kept or not self._showing:
            return
        began_s = self._services.clock.boottime_s()
        self._send()
        self._flushed_s = self._services.clock.boottime_s()
        # a server that hangs must not hold up the stream of a reply that is being paid for
        self._showing = self._flushed_s - began_s < SLOW_S

    def _send(self) -> None:
        store = self._services.store
        if not self._watched:
            shown = store.live_shown(self._task_id, self._call)
            if shown is None:
                return
            self._kept = joined(after(self._kept, shown))
            self._watched = True
        if not self._kept or (watched := store.publish_live(self._task_id, self._kept)):
            self._kept, self._piece_s = [], None
        else:
            self._watched = watched


def after(pieces: Iterable[Delta], shown: int) -> list[Delta]:
    """The pieces without what was shown of them.

    Args:
        pieces: of one reply, in order.
        shown: characters of it.
    """
    rest = ((piece, piece.end - shown) for piece in pieces if piece.end > shown)
    return [Delta(piece.kind, piece.text[-left:], piece.call, piece.end) for piece, left in rest]


def joined(pieces: Iterable[Delta]) -> list[Delta]:
    """The same text in fewer pieces; each name of a tool stays one."""
    made: list[Delta] = []
    for piece in pieces:
        last = made[-1] if made else None
        if last is None or piece.kind == TOOL or last.kind != piece.kind or len(last.text) >= PIECE_CHARS:
            made.append(piece)
        else:
            made[-1] = Delta(piece.kind, last.text + piece.text, piece.call, piece.end)
    return made
