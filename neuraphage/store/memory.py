"""How full the state server is. Past a share of its memory no new task is taken, so that those under way can end."""

from __future__ import annotations

import redis

from neuraphage.errors import StoreUnavailable
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext


def used_percent(context: StoreContext) -> float | None:
    """The used share of `maxmemory`.

    Returns:
        Percent; None where there is no such limit, or where the server does not tell this user.

    Raises:
        StoreUnavailable, StoreError: the server does not answer.
    """
    with translated("ask for the memory"):
        try:
            told = context.client.info("memory")
        except redis.exceptions.ResponseError:  # the user's rules, or a fake server
            return None
    limit = int(told.get("maxmemory", 0))
    return 100 * int(told.get("used_memory", 0)) / limit if limit else None


def refuse_when_full(context: StoreContext, key: str) -> None:
    """See that there is room for a new task; a repeat of one that is stored needs none.

    Args:
        context: the store.
        key: idempotency key of create.

    Raises:
        StoreUnavailable: the server is too full, or does not answer.
        StoreError: it refuses.
    """
    percent, limit = used_percent(context), context.settings.admission_memory_percent
    if percent is None or percent < limit:
        return
    with translated("look for the task"):
        known = context.client.exists(context.keys.create(key))
    if not known:
        raise StoreUnavailable(
            f"the memory of the state server is {percent:.0f} % full: above admission_memory_percent, {limit:g} %, it"
            " takes no new task, so that those under way can end; raise its maxmemory, or let ended tasks go sooner"
        )
