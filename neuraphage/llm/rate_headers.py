"""What a provider's headers tell of its limits: what it allows a key, and for how long it has nothing left."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from neuraphage.model.capacity import LearnedLimits

PREFIX = "anthropic-ratelimit-"
CHAT_PREFIX = "x-ratelimit-limit-"
MOST_DIGITS = 12
KINDS = ("requests", "tokens", "input-tokens", "output-tokens")
LONGEST_S = 3_600.0
AGREE_S = 10.0
"""Two clocks that differ by less are taken for right."""


def exhausted_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """For how many seconds nothing is left, within 0 and LONGEST_S.

    Args:
        headers: of an answer.
        now_s: wall clock in Unix seconds; the provider's own goes first, where the answer has it.

    Returns:
        None where something is left of everything, or no header says anything readable.
    """
    resets = [
        headers.get(f"{PREFIX}{kind}-reset") for kind in KINDS if _is_zero(headers.get(f"{PREFIX}{kind}-remaining"))
    ]
    at_s = [read for text in resets if text and (read := _time_s(text)) is not None]
    if not at_s:
        return None
    return min(max(max(at_s) - _provider_s(headers, now_s), 0.0), LONGEST_S)


def limits_told(headers: Mapping[str, str]) -> LearnedLimits | None:
    """What the provider says that it allows within a minute; None where it says nothing.

    Args:
        headers: of an answer of Anthropic's API, or of one like OpenAI's.
    """
    told = {
        kind: _count(headers.get(f"{PREFIX}{kind.replace('_', '-')}-limit") or headers.get(f"{CHAT_PREFIX}{kind}"))
        for kind in LearnedLimits.model_fields
    }
    found = {kind: count for kind, count in told.items() if count is not None}
    return LearnedLimits(**found) if found else None


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < MOST_DIGITS else None


def _is_zero(text: str | None) -> bool:
    try:
        return text is not None and int(text) == 0
    except ValueError:
        return False


def _time_s(text: str) -> float | None:
    """A time as RFC 3339 writes it."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _provider_s(headers: Mapping[str, str], now_s: float) -> float:
    """The provider's clock: ours may be wrong. Its header may be seconds old, so ours is taken where both agree."""
    try:
        date = parsedate_to_datetime(headers.get("date") or "")
    except (TypeError, ValueError, IndexError, OverflowError):
        return now_s
    theirs_s = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return now_s if abs(now_s - theirs_s) <= AGREE_S else theirs_s
