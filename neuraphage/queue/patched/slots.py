"""A slot that has become free takes in the next message at once.

Changes: a message whose turn is over leaves Celery's set of reserved requests a moment earlier, and its loop is woken.
Why: with `worker_disable_prefetch` the consumer asks for no message while every slot is taken. The end of a turn in a
thread does not wake its loop (an acknowledgement would, but turns are not acknowledged), so it would ask again only
at its next tick: a full worker then stood still for a tenth of a second between turns.
Read against: Celery 5.7.0, kombu 5.7.0.
"""

from __future__ import annotations

import os
from typing import Any

from celery import bootsteps, signals
from celery.worker import state


class _Consumer:
    """The loop of this process's consumer; a forked child inherits another process's."""

    hub: Any = None
    pid = 0


class FreeSlotStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery carries no types
    """Learns which loop to wake, each time the consumer starts."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, parent: Any) -> None:
        """Learn the loop of the consumer, which takes in messages now."""
        _Consumer.hub, _Consumer.pid = parent.hub, os.getpid()


@signals.task_postrun.connect
def free_slot(task_id: str | None = None, **_: Any) -> None:
    """A message was handled: count its slot as free (Celery does so a moment later) and wake the consumer."""
    if _Consumer.hub is None or _Consumer.pid != os.getpid():
        return
    request = state.requests.get(task_id)
    if request is not None:
        state.reserved_requests.discard(request)
    _Consumer.hub.call_soon(_nothing)


def _nothing() -> None:
    """What the woken loop is called for: it looks for free slots by itself."""
