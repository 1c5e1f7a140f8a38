"""What the provider's prompt cache had of one request."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.model.base import Frozen


class CacheUse(Frozen):
    """Of one request, stored with its reply.

    Args:
        read: tokens that were read from the cache.
        written: tokens that were written to it.
        hour: whether it is kept for an hour, not for 5 minutes.
        at_ms: server time, when the reply was there.
        head: a short hash each of model, system text and tools, in this order, with a dot between.
    """

    read: int = 0
    written: int = 0
    hour: bool = False
    at_ms: int = 0
    head: str = ""


class CacheBreak(StrEnum):
    """Why a request was not read from the cache although the one before it was kept there."""

    MODEL = "another model"
    SYSTEM = "another system text"
    TOOLS = "other tools"
    COMPACTION = "the conversation was made shorter"
    PAUSE = "the pause was longer than the cache keeps a request"
    UNKNOWN = "the provider had dropped it"
