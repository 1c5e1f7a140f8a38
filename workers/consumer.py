"""What the Celery consumer does beyond its defaults: it ends its last pop, and tells whether it takes in messages."""

from __future__ import annotations

import mmap
import time
from typing import Any

from celery import bootsteps

TICK_S = 0.5
"""How often the consumer's loop shows that it turns."""
_CLOSED = mmap.mmap(-1, 1)
"""One byte shared with forked children: only the parent knows its consumer."""
_CLOSED[0] = 1


class _Loop:
    """The consumer's loop in this process."""

    ticked_s: float | None = None


def is_closed() -> bool:
    """Whether the consumer of this process, or of its parent, takes in no more messages."""
    return _CLOSED[0] == 1


def is_consuming() -> bool:
    """Whether the loop of the present connection has turned of late; a consumer that just came back must show it."""
    ticked_s = _Loop.ticked_s
    return not is_closed() and ticked_s is not None and time.monotonic() - ticked_s < 3 * TICK_S


class ConsumerState(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery carries no types
    """Ends the blocking pop when the consumer stops, and keeps the two answers above.

    A consumer that was told to stop leaves its last BRPOP waiting on the server, for up to a second. The message
    that the leaving process itself sends, to say that others may go on, would be given to that pop and lost; the
    sweep would find the task seconds later. Ending the connection makes the server forget the pop at once.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)  # so it stops before the consumer is cancelled

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._timer_entry: Any = None

    def start(self, parent: Any) -> None:
        """The consumer takes in messages, for the first time or again."""
        _CLOSED[0] = 0
        self._timer_entry = parent.timer.call_repeatedly(TICK_S, _tick)

    def stop(self, parent: Any) -> None:
        """Disconnect; kombu forgets the pop and asks for no other, since the consumer is cancelled next."""
        if self._timer_entry is not None:
            self._timer_entry.cancel()
            self._timer_entry = None
        _Loop.ticked_s = None
        channel = getattr(parent.task_consumer, "channel", None)
        pending = getattr(channel, "_in_poll", None)
        if pending:
            pending.disconnect()
        _CLOSED[0] = 1


def _tick() -> None:
    _Loop.ticked_s = time.monotonic()
