"""Whether the stack works, seen from outside: the servers answer, and a worker is there to claim tasks."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.errors import StoreError
from neuraphage.queue import BROKER_DOWN, RUN_QUEUE, CeleryDispatcher, make_app, masked
from neuraphage.settings import Settings
from neuraphage.wiring import build_store

WORKERS_ANSWER_S = 1.0
"""How long the workers have to answer."""


@dataclass(frozen=True, slots=True)
class Health:
    """What was found.

    Args:
        failures: what does not work, one sentence each; empty when all does.
        workers: Celery node names of the workers that read the queue of turns; empty when not asked for.
    """

    failures: tuple[str, ...]
    workers: tuple[str, ...] = ()


def check_health(settings: Settings, *, with_workers: bool) -> Health:
    """Ask the state server, the broker and, if wanted, the workers.

    Args:
        settings: where they are.
        with_workers: whether a worker that can claim is part of it.
    """
    failures = []
    store = build_store(settings)
    try:
        store.now_ms()
    except StoreError as error:
        failures.append(str(error))
    finally:
        store.context.client.close()
    app = make_app(settings)
    try:
        if CeleryDispatcher(app).queue_length() is None:
            failures.append(f"the broker {masked(settings.broker_url.get_secret_value())} does not answer")
        if failures or not with_workers:
            return Health(tuple(failures))
        queues = app.control.inspect(timeout=WORKERS_ANSWER_S).active_queues() or {}
    except BROKER_DOWN as error:
        return Health((f"the broker failed while the workers were asked ({type(error).__name__})",))
    finally:
        app.close()
    workers = tuple(sorted(node for node, found in queues.items() if any(q["name"] == RUN_QUEUE for q in found)))
    if workers:
        return Health((), workers)
    return Health((f"no worker that reads the queue {RUN_QUEUE} answered within {WORKERS_ANSWER_S:g} s: start one",))
