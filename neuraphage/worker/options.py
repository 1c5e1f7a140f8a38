"""Which options of `celery worker` cannot work here, known before it takes in a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from neuraphage.queue.names import CONTROL_QUEUE, RUN_QUEUE

_GREEN = ("gevent", "eventlet")
_GROWING = "prefork"
"""The only pool that Celery's autoscaler can change; any other fails at each message."""


def refusal(
    options: Mapping[str, Any],
    known: Sequence[str],
    *,
    access_problem: str | None,
    model_problem: Callable[[], str | None] = lambda: None,
) -> str | None:
    """Say why a worker with these options would fail every message, or wait for ever; None when it would not.

    Args:
        options: of Celery's command line.
        known: names of all queues.
        access_problem: what to set before any model can be called; None when one can.
        model_problem: finds what is wrong with the key or with the address of the model's API, if something is; asked
            last, since that takes longer than all the rest.
    """
    asked, left_out = _names(options.get("queues")), _names(options.get("exclude_queues"))
    unknown = [name for name in asked if name not in known]
    if unknown:
        return f"-Q {','.join(unknown)}: no such queue; there are {' and '.join(known)}"
    pool = _pool(options.get("pool"))
    if pool in _GREEN:
        return f"-P {pool}: turns need real threads or processes; take -P threads or -P prefork"
    if options.get("autoscale") and pool != _GROWING:
        return f"--autoscale: a pool of {pool} cannot grow; take -P prefork, or -c in place of --autoscale"
    if RUN_QUEUE not in (asked or known) or RUN_QUEUE in left_out:
        return None
    if access_problem is not None:
        return f"{access_problem}; {RUN_QUEUE} calls models, a worker of -Q {CONTROL_QUEUE} alone needs none of it"
    return model_problem()


def _names(value: Any) -> list[str]:
    return value.split(",") if isinstance(value, str) else list(value or ())


def _pool(value: Any) -> str:
    """Name of a pool that Celery gives as a class or by a name."""
    name = value if isinstance(value, str) else str(getattr(value, "__module__", "") or _GROWING)
    last = name.partition(":")[0].rpartition(".")[2]
    return {"thread": "threads", "processes": _GROWING}.get(last, last)
