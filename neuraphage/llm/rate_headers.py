"""What a provider's headers tell of its limits: what it allows a key, what is left of it, and when all is there again.

Read as Anthropic, OpenAI, Azure, Groq, Mistral, LiteLLM and servers like theirs write them. Whatever is no number or no
time says nothing, and so does a limit of 0 or less: some servers write that where they have none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from neuraphage.model.capacity import LearnedLimits, ToldLimits

LONGEST_S = 3_600.0
AGREE_S = 10.0
"""Two clocks that differ by less are taken for right."""
_NAMES = {
    "requests": ("anthropic-ratelimit-requests-{}", "x-ratelimit-{}-requests", "x-ratelimit-{}-req-minute"),
    "tokens": ("anthropic-ratelimit-tokens-{}", "x-ratelimit-{}-tokens", "x-ratelimit-{}-tokens-minute"),
    "input_tokens": ("anthropic-ratelimit-input-tokens-{}", "x-ratelimit-{}-input-tokens"),
    "output_tokens": ("anthropic-ratelimit-output-tokens-{}", "x-ratelimit-{}-output-tokens"),
}
_NUMBER = re.compile(r"([0-9]{1,11})(\.[0-9]{0,9})?", re.ASCII)
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,9})?)(ms|us|µs|ns|h|m|s)", re.ASCII)
_SECONDS = {"h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_EPOCH, _EPOCH_MS = 1e9, 1e12
"""Numbers from these on are no seconds from now, but Unix times in seconds and milliseconds."""


def limits_told(headers: Mapping[str, str], now_s: float) -> ToldLimits | None:
    """What an answer says of limits; None where it says nothing.

    Args:
        headers: of the answer.
        now_s: wall clock in Unix seconds; the provider's own goes first, where the answer has it.
    """
    limits: dict[str, int] = {}
    left: dict[str, int] = {}
    reset_s: dict[str, float] = {}
    clock_s = _provider_s(headers, now_s)
    for kind, names in _NAMES.items():
        most, remaining, reset = (_first(headers, names, what) for what in ("limit", "remaining", "reset"))
        allowed, rest = _count(most), _count(remaining)
        if most is not None and not allowed:
            continue
        if allowed:
            limits[kind] = allowed
        if rest is not None:
            left[kind] = min(rest, allowed) if allowed else rest
        after_s = None if reset is None else _after_s(reset, clock_s)
        if after_s is not None:
            reset_s[kind] = min(max(after_s, 0.0), LONGEST_S)
    if not limits and not left:
        return None
    return ToldLimits(limits=LearnedLimits(**limits), left=left, reset_s=reset_s)


def _first(headers: Mapping[str, str], names: tuple[str, ...], what: str) -> str | None:
    found = (headers.get(name.format(what)) for name in names)
    return next((text.strip() for text in found if text is not None and text.strip()), None)


def _count(text: str | None) -> int | None:
    """A number of calls or tokens, without what stands behind its point."""
    read = _NUMBER.fullmatch(text or "")
    return int(read[1]) if read else None


def _after_s(text: str, clock_s: float) -> float | None:
    """Seconds from now on: of `6m0s`, of a number of seconds, of a time in Unix seconds, or as RFC 3339 writes it."""
    parts = list(_PART.finditer(text))
    if parts and "".join(part[0] for part in parts) == text:
        return math.fsum(float(part[1]) * _SECONDS[part[2]] for part in parts)
    try:
        number = float(text) if re.fullmatch(r"[0-9]{1,14}(\.[0-9]{0,9})?", text, re.ASCII) else None
        if number is None:
            found = datetime.fromisoformat(text)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() - clock_s
    except (ValueError, OverflowError):
        return None
    if number >= _EPOCH:
        return (number / 1_000 if number >= _EPOCH_MS else number) - clock_s
    return number


def _provider_s(headers: Mapping[str, str], now_s: float) -> float:
    """The provider's clock: ours may be wrong. Its header may be seconds old, so ours is taken where both agree."""
    try:
        date = parsedate_to_datetime(headers.get("date") or "")
    except (TypeError, ValueError, IndexError, OverflowError):
        return now_s
    theirs_s = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    return now_s if abs(now_s - theirs_s) <= AGREE_S else theirs_s
