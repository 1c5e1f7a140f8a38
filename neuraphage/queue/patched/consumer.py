"""What the Celery consumer does beyond its defaults: it ends its last pop, and tells whether it takes in messages.

Changes: nothing of Celery's; a step of the consumer reads when its channel has sent a pop (`_in_poll`,
`_brpop_sent_at`), ends that one's connection, and asks the pool for dead children at each tick.
Why: a pop left behind takes a message that nobody handles, a pop that is never answered takes none in, and a child's
death is else seen five seconds later. See ConsumerState.
Read against: Celery 5.7.0, kombu 5.7.0.
"""

from __future__ import annotations

import mmap
import time
from typing import Any

from celery import bootsteps

TICK_S = 0.1
"""How often the consumer's loop shows that it turns, and looks for children that have died."""
FRESH_S = 1.5
"""A loop that has not turned for so long takes in nothing."""
STEADY_S = 0.5
"""A connection that came back counts once it has held so long."""
AGAIN_S = 1.0
"""A consumer that was thrown out as soon as it began, by a broker that refuses its pop for example, waits so long."""
_CLOSED = mmap.mmap(-1, 1)
"""One byte shared with forked children: only the parent knows its consumer."""
_CLOSED[0] = 1


class _Loop:
    """The consumer's loop in this process."""

    since_s = 0.0
    ticked_s = 0.0
    overdue = False
    """Whether the broker owes the answer to a pop: the path to it may drop everything in silence."""


def is_closed() -> bool:
    """Whether the consumer of this process, or of its parent, takes in no more messages."""
    return _CLOSED[0] == 1


def is_consuming() -> bool:
    """Whether messages are taken in: the connection has held for a while and answers, and the loop turned of late."""
    now_s = time.monotonic()
    return (
        not is_closed() and not _Loop.overdue and now_s - _Loop.since_s >= STEADY_S and now_s - _Loop.ticked_s < FRESH_S
    )


class ConsumerState(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery carries no types
    """Ends the blocking pop when the consumer stops, keeps the two answers above, and sees children die at once.

    A consumer that was told to stop leaves its last BRPOP waiting on the server, for up to a second. The message
    that the leaving process itself sends, to say that others may go on, would be given to that pop and lost; the
    sweep would find the task seconds later. Ending the connection makes the server forget the pop at once.

    Celery hears of a prefork child's death by the end of a pipe, and asks then whether the child is gone. A child's
    files are closed a moment before it can be waited for, so the answer is often no, and Celery asks again only after
    five seconds (measured: half of all kills). Here it is asked every tick.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)  # so it stops before the consumer is cancelled

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self._timer_entry: Any = None

    def start(self, parent: Any) -> None:
        """Note that the consumer takes in messages, for the first time or again."""
        if time.monotonic() - _Loop.since_s < STEADY_S:
            time.sleep(AGAIN_S)  # Celery itself would begin again at once, and log 25 lines a second
        _CLOSED[0] = 0
        _Loop.since_s = time.monotonic()
        self._timer_entry = parent.timer.call_repeatedly(TICK_S, _tick, (parent,))

    def stop(self, parent: Any) -> None:
        """Disconnect; kombu forgets the pop and asks for no other, since the consumer is cancelled next."""
        if self._timer_entry is not None:
            self._timer_entry.cancel()
            self._timer_entry = None
        channel = getattr(parent.task_consumer, "channel", None)
        pending = getattr(channel, "_in_poll", None)
        if pending:
            pending.disconnect()
        _CLOSED[0] = 1


def _tick(parent: Any) -> None:
    _Loop.ticked_s = time.monotonic()
    channel = getattr(parent.task_consumer, "channel", None)
    _Loop.overdue = channel is not None and is_overdue(channel, _Loop.ticked_s)
    parent.pool.maintain_pool()


def is_overdue(channel: Any, now_s: float) -> bool:
    """Whether a pop has had no answer although the server answers each after `brpop_timeout`, message or not.

    Args:
        channel: of kombu's Redis transport.
        now_s: monotonic.
    """
    sent_s = getattr(channel, "_brpop_sent_at", None)
    if not getattr(channel, "_in_poll", None) or sent_s is None:
        return False
    return bool(now_s - sent_s > channel.brpop_timeout + FRESH_S)
