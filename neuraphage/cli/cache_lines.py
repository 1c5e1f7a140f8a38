"""How well the provider's prompt cache has served a task, and what broke it."""

from __future__ import annotations

from neuraphage.api import Api
from neuraphage.decide.prompt_cache import last_break
from neuraphage.model.usage import Counters

LATE_MESSAGES = 200
"""In which it is looked for what broke the prompt cache."""


def cache_lines(counters: Counters) -> list[tuple[str, str]]:
    """How much of the input was read from the provider's prompt cache; nothing where no input was counted."""
    total = counters.input_tokens + counters.cache_write_tokens + counters.cache_read_tokens
    share = 100 * counters.cache_read_tokens / total if total else 0.0
    return [("cache", f"{share:.0f} % of the input was read from the provider's cache")] if total else []


def cache_break_lines(api: Api, task_id: str) -> list[tuple[str, str]]:
    """What of late kept a request from being read from the cache, if anything did."""
    found = last_break(api.conversation(task_id, first=-LATE_MESSAGES))
    return [] if found is None else [("cache", f"not read in turn {found.turn + 1}: {found.why.value}")]
