"""Keeping a finished outcome until the store takes it.

An answer of the model is expensive: when the state server is away, the outcome is held and offered again.
Fence, claim id and token decide whether it still counts, not this process's opinion.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import tenacity

from neuraphage.errors import StoreError, StoreUnavailable

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE_S = 900.0
"""How long an outcome is held: far longer than a restart or a failover takes."""
DRAIN_PATIENCE_S = 5.0
"""How long during a shutdown: inside every usual grace period."""


def persistently(
    write: Callable[[], T],
    give_up: Callable[[], bool],
    draining: Callable[[], bool],
    waits_for: tuple[type[StoreError], ...] = (StoreUnavailable,),
) -> T:
    """Repeat a replay-safe write while the store is unavailable.

    Args:
        write: the write; repeating it must be safe.
        give_up: asked between tries; true ends the waiting (the lease was seen lost).
        draining: whether the process is shutting down.
        waits_for: what is waited for: errors that somebody puts right on the server.

    Raises:
        StoreUnavailable, or another of `waits_for`: the patience ran out.
    """

    try:
        return write()  # nearly always: the machinery of retrying is built only when it is needed
    except waits_for as error:
        if give_up():
            raise
        log.warning("held until the state server takes it: %s", error)

    def stop(state: tenacity.RetryCallState) -> bool:
        limit = DRAIN_PATIENCE_S if draining() else PATIENCE_S
        return give_up() or (state.seconds_since_start or 0.0) >= limit

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(waits_for),
        wait=tenacity.wait_exponential(multiplier=0.05, max=1.0) + tenacity.wait_random(0, 0.05),
        stop=stop,
        reraise=True,
    )(write)
