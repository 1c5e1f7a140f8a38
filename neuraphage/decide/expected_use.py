"""What a call of the model may use of limits that are counted in tokens, before it is made. Pure.

Where a person has set limits, a call takes all that it may use. Where they were learned it takes what it is expected to
use: providers count tokens as they are written and not those that were read from the cache, and a call of which more is
taken than it needs keeps others waiting for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuraphage.decide.hashing import canonical
from neuraphage.decide.model_limits import estimated_tokens
from neuraphage.decide.prompt_cache import LONG_MS, SHORT_MS
from neuraphage.model.cache_use import CacheUse
from neuraphage.model.usage import Counters

FIRST_OUTPUT_TOKENS = 1_000
"""Of a task that has no reply yet; and of others at least."""
MORE_THAN_USUAL = 2


def expected_output(counters: Counters, max_tokens: int) -> int:
    """Tokens that the next reply of a task is expected to have: twice as many as its replies had on the average.

    Args:
        counters: of the task.
        max_tokens: the most that it may have.
    """
    usual = counters.output_tokens // counters.model_calls if counters.model_calls else 0
    return min(max_tokens, max(FIRST_OUTPUT_TOKENS, MORE_THAN_USUAL * usual))


def most_input(entries: Sequence[Mapping[str, Any]], tools: object) -> int:
    """Tokens that a request may have, as if nothing of it were in the cache.

    Args:
        entries: the conversation as stored.
        tools: what the model is told of tools.
    """
    return estimated_tokens(len(canonical([entry["content"] for entry in entries])) + len(canonical(tools)))


def expected_input(entries: Sequence[Mapping[str, Any]], tools: object, now_ms: int) -> int:
    """Tokens that a request is expected to have outside of the cache: what is new since the last reply, if the cache
    holds the rest still.

    Args:
        entries: the conversation as stored.
        tools: what the model is told of tools.
        now_ms: server time.
    """
    for at in range(len(entries) - 1, -1, -1):
        cache = entries[at].get("cache")
        if cache is None:
            continue
        use = CacheUse.model_validate(cache)
        if use.read + use.written > 0 and now_ms - use.at_ms < (LONG_MS if use.hour else SHORT_MS):
            return estimated_tokens(len(canonical([entry["content"] for entry in entries[at:]])))
        break
    return most_input(entries, tools)
