"""Revoking a turn cancels its task: what people mean by it, in Celery's command line and in Flower.

Celery's own revoke drops one message and is forgotten when the workers restart; the sweep would send the turn again.
And a pool of threads cannot terminate anything. So both become a cancel, which is stored: whoever runs the turn stops
at once, and no other worker begins it.
"""

from __future__ import annotations

import logging
import secrets
from typing import Any

from celery import signals

from neuraphage.api.service import TaskService
from neuraphage.client_wiring import build_store, redactor
from neuraphage.configuration import load
from neuraphage.errors import NeuraphageError
from neuraphage.queue.names import RUN_TURN
from neuraphage.queue.patched.requests import EndedRequest
from neuraphage.waking import build_dispatcher

log = logging.getLogger(__name__)

REASON = "its turn was revoked in Celery"


class TurnRequest(EndedRequest):
    """A turn's message in hand of a worker; its end cancels the task."""

    @staticmethod
    def end(args: Any) -> None:
        """See EndedRequest."""
        cancel_task(*args[:2])


@signals.task_revoked.connect
def cancel_revoked(sender: Any = None, request: Any = None, expired: bool = False, **_: Any) -> None:
    """A revoked message was dropped: cancel its task, if it was a turn's."""
    if sender is not None and sender.name == RUN_TURN and not expired:
        cancel_task(*request.args[:2])


def cancel_task(task_id: str, iteration: int) -> None:
    """Cancel a task that is still in this turn; a turn that is over cannot be revoked.

    Args:
        task_id: the task.
        iteration: its turn; recovered meanwhile or not.
    """
    where = {"task": task_id, "turn": iteration + 1}
    settings = load()
    store = build_store(settings)
    try:
        if store.get(task_id).counters.iteration == iteration:
            service = TaskService(store, build_dispatcher(settings), redactor(), lambda: secrets.token_hex(8))
            service.cancel(task_id, REASON)
            log.warning("cancelled: %s", REASON, extra=where)
    except NeuraphageError as error:
        log.warning("revoked in Celery, but not cancelled: %s", error, extra=where)
    finally:
        store.context.client.close()
