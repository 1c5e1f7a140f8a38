"""How long a request of a model may be, by its window and the settings. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from neuraphage.model.model_facts import ModelFacts


@dataclass(frozen=True, slots=True)
class ContextBounds:
    """Sizes of the next request, in tokens; see `context_bounds`.

    Args:
        window_tokens: what the model takes, the reply included.
        limit_tokens: a request that would be larger is made shorter.
        target_tokens: what it is made shorter to.
        summary_tokens: longest summary.
        keep_entries: entries at the end that stay whole.
        head_tokens: estimate of the system text and the tools.
        waiting_tokens: estimate of what people have sent and no request held yet.
    """

    window_tokens: int
    limit_tokens: int
    target_tokens: int
    summary_tokens: int
    keep_entries: int
    head_tokens: int = 0
    waiting_tokens: int = 0


def context_bounds(
    facts: ModelFacts,
    *,
    reply_tokens: int,
    threshold_percent: float,
    target_percent: float,
    summary_tokens: int,
    keep_entries: int,
    most_tokens: int,
    head_tokens: int = 0,
    waiting_tokens: int = 0,
) -> ContextBounds:
    """The sizes for one model.

    Args:
        facts: of the model.
        reply_tokens: kept for the reply; of a window that is smaller than twice of it, half is kept.
        threshold_percent: of the window: a larger request is made shorter, also where more would be left for the reply.
        target_percent: of the window: what it is made shorter to; three quarters of the limit at most, so that some
            turns follow before the next time.
        summary_tokens: longest summary; no more than an eighth of the window.
        keep_entries, head_tokens, waiting_tokens: see ContextBounds.
        most_tokens: a larger request is made shorter, however large the window.
    """
    window = facts.window_tokens
    limit = min(int(window * threshold_percent / 100), window - min(reply_tokens, window // 2), most_tokens)
    return ContextBounds(
        window_tokens=window,
        limit_tokens=limit,
        target_tokens=min(limit * 3 // 4, int(window * target_percent / 100)),
        summary_tokens=max(1, min(summary_tokens, window // 8)),
        keep_entries=keep_entries,
        head_tokens=head_tokens,
        waiting_tokens=waiting_tokens,
    )


def bounds_of(
    settings: Any, facts: ModelFacts, max_tokens: int, *, head_tokens: int = 0, waiting_tokens: int = 0
) -> ContextBounds:
    """The sizes for one model by the settings of this process.

    Args:
        settings: with the fields of `ContextSettings`.
        facts: of the model.
        max_tokens: longest reply of the task.
        head_tokens, waiting_tokens: see ContextBounds.
    """
    if settings.context_window_tokens is not None:
        facts = replace(facts, window_tokens=settings.context_window_tokens)
    return context_bounds(
        facts,
        reply_tokens=max(settings.context_reply_tokens, max_tokens),
        threshold_percent=settings.context_threshold_percent,
        target_percent=settings.context_target_percent,
        summary_tokens=settings.context_summary_tokens,
        keep_entries=settings.context_keep_entries,
        most_tokens=settings.context_most_tokens,
        head_tokens=head_tokens,
        waiting_tokens=waiting_tokens,
    )
