"""What the Celery consumer does beyond its defaults."""

from __future__ import annotations

import mmap
from typing import Any

from celery import bootsteps

_CLOSED = mmap.mmap(-1, 1)
"""One byte shared with forked children: only the parent knows its consumer."""


def is_closed() -> bool:
    """Whether the consumer of this process, or of its parent, takes in no more messages."""
    return _CLOSED[0] == 1


class ClosingStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery carries no types
    """Ends the blocking pop when the consumer stops, and tells so.

    A consumer that was told to stop leaves its last BRPOP waiting on the server, for up to a second. The message
    that the leaving process itself sends, to say that others may go on, would be given to that pop and lost; the
    sweep would find the task seconds later. Ending the connection makes the server forget the pop at once.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)  # so it stops before the consumer is cancelled

    def start(self, parent: Any) -> None:
        """The consumer takes in messages, for the first time or again."""
        del parent
        _CLOSED[0] = 0

    def stop(self, parent: Any) -> None:
        """Disconnect; kombu forgets the pop and asks for no other, since the consumer is cancelled next."""
        channel = getattr(parent.task_consumer, "channel", None)
        pending = getattr(channel, "_in_poll", None)
        if pending:
            pending.disconnect()
        _CLOSED[0] = 1
