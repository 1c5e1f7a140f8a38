"""Shows viewers a reply while it streams. It may fail or be slow: the reply itself must not."""

from __future__ import annotations

import logging

from neuraphage.ports import Delta
from neuraphage.runtime.live_text import LiveText
from neuraphage.runtime.services import Services

log = logging.getLogger(__name__)

FLUSH_S = 0.1
"""Deltas are shown in bundles of this length."""
SLOW_S = 1.0
"""When a bundle takes so long, nothing more of this reply is shown before it is complete."""


class LiveView:
    """What viewers see of one reply.

    Args:
        services: the store, the clock and the redaction.
        task_id: whose reply it is.
    """

    def __init__(self, services: Services, task_id: str) -> None:
        self._services = services
        self._task_id = task_id
        self._text = LiveText(services.redaction)
        self._showing = True
        self._flushed_s = 0.0

    def show(self, delta: Delta) -> None:
        """Take in a piece; send what is due. The model client guards the stream against what this raises."""
        if not self._showing:
            return
        self._text.add(delta)
        now_s = self._services.clock.boottime_s()
        if now_s - self._flushed_s >= FLUSH_S:
            self._flushed_s = now_s
            self._publish(self._text.take())

    def end(self) -> None:
        """Send the rest, once the reply is noted. Observers fail open: it is paid and not yet stored."""
        try:
            self._publish(self._text.end())
        except Exception:  # whatever it is, it must not lose the reply
            log.warning("showing the end of a reply failed", exc_info=True)

    def _publish(self, pieces: list[Delta]) -> None:
        if not pieces or not self._showing:
            return
        began_s = self._services.clock.boottime_s()
        self._services.store.publish_live(self._task_id, pieces)
        self._flushed_s = self._services.clock.boottime_s()
        # a server that hangs must not hold up the stream of a reply that is being paid for
        self._showing = self._flushed_s - began_s < SLOW_S
