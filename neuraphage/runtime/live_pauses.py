"""One thread of this process, which looks whether replies that are shown pause: then what there is of them is sent.

A reply's own thread sends with its next piece, which may be a minute away.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Protocol

log = logging.getLogger(__name__)

PAUSE_S = 0.25
"""After so long without a piece, what there is of a reply is sent."""
LOOK_S = 0.1
IDLE_LOOKS = 100
"""So often the thread looks in vain before it ends: ten seconds. Turns follow each other faster."""


class Pausing(Protocol):
    """A reply that is being shown."""

    def paused(self) -> None:
        """Look whether it pauses, and send what there is."""
        ...


class LivePauses:
    """The replies that this process shows. Thread-safe; its thread is there while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: set[Pausing] = set()
        self._is_looking = False

    def add(self, reply: Pausing) -> None:
        """Look at a reply from now on."""
        with self._lock:
            self._shown.add(reply)
            if self._is_looking:
                return
            try:
                threading.Thread(target=self._look, name="neuraphage-live", daemon=True).start()
            except RuntimeError:  # no thread is to be had: pieces are sent with the next one
                return
            self._is_looking = True

    def remove(self, reply: Pausing) -> None:
        """Look at it no more."""
        with self._lock:
            self._shown.discard(reply)

    def forget(self) -> None:
        """In a forked child: the thread is the parent's, and so are the replies and who holds the lock."""
        self._lock, self._is_looking = threading.Lock(), False
        self._shown.clear()

    def _look(self) -> None:
        idle = 0
        while True:
            time.sleep(LOOK_S)
            with self._lock:
                shown = tuple(self._shown)
                idle = 0 if shown else idle + 1
                if idle > IDLE_LOOKS:
                    self._is_looking = False
                    return
            for reply in shown:
                try:
                    reply.paused()
                except Exception:  # whatever it is: the reply itself must not know of it
                    log.warning("showing a reply that pauses failed", exc_info=True)
                    self.remove(reply)


PAUSES = LivePauses()
os.register_at_fork(after_in_child=PAUSES.forget)
