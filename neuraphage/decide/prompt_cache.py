"""The provider's prompt cache: how long a request is to be kept in it, and what has broken it. Pure.

Prices of input, as the provider has them: 1.25 to write for 5 minutes, 2 to write for an hour, 0.1 to read, 1 without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Literal

from neuraphage.model.cache_use import CacheBreak, CacheUse

SHORT_MS, LONG_MS = 300_000, 3_600_000
"""Lifetimes; each use begins them anew."""
LAST_GAPS = 20
"""Turns whose pauses say what pauses are to be expected."""
_WRITE_SHORT, _WRITE_LONG, _READ = 1.25, 2.0, 0.1
_IS_READ = 0.5
"""A request of which less than this share of the one before was read has met a broken cache."""

Entries = Sequence[Mapping[str, Any]]


def lifetime(entries: Entries) -> Literal["5m", "1h"]:
    """For how long the next request is to be kept: what would have been cheaper over the last turns.

    An hour costs 0.75 more for each token that a turn adds. It saves 1.15 for each token of the whole request at each
    pause that is longer than 5 minutes and no longer than an hour: that would be written again and is read instead.
    It rests on what is stored alone, so a request that is sent again is the same.

    Args:
        entries: the stored conversation.
    """
    told = (entry for entry in reversed(entries) if entry["role"] == "assistant" and entry.get("cache") is not None)
    uses = [(int(entry["cache"].get("at_ms", 0)), int(entry.get("tokens", 0))) for entry in islice(told, LAST_GAPS + 1)]
    pauses_tokens = added_tokens = 0
    for (later_ms, later_tokens), (former_ms, former_tokens) in pairwise(uses):  # the latest one first
        if SHORT_MS < later_ms - former_ms <= LONG_MS:
            pauses_tokens += former_tokens
        added_tokens += max(0, later_tokens - former_tokens)
    saved, paid = pauses_tokens * (_WRITE_SHORT - _READ), added_tokens * (_WRITE_LONG - _WRITE_SHORT)
    return "1h" if saved > paid else "5m"


@dataclass(frozen=True, slots=True)
class Broken:
    """A request that was not read from the cache.

    Args:
        turn: in which; 0 for the first one.
        why: what broke it.
    """

    turn: int
    why: CacheBreak


def last_break(entries: Entries) -> Broken | None:
    """The last request that was not read from the cache although the one before it was kept there.

    Args:
        entries: the stored conversation, or its end.
    """
    uses = _uses(entries)
    for former, later in reversed(list(pairwise(uses))):
        kept = former.use.read + former.use.written
        if kept and later.use.read < kept * _IS_READ:
            return Broken(later.turn, _why(former, later))
    return None


@dataclass(frozen=True, slots=True)
class _Used:
    """A reply: the use of the cache for its request, its tokens, its turn, and whether a compaction came before it."""

    use: CacheUse
    tokens: int
    turn: int
    compacted: bool


def _uses(entries: Entries) -> list[_Used]:
    """The replies that tell of the cache, oldest first."""
    found: list[_Used] = []
    compacted = False
    for entry in reversed(entries):
        if entry.get("compaction") is not None and found:
            found[-1] = _with_compaction(found[-1])
        if entry["role"] != "assistant" or entry.get("cache") is None:
            continue
        use = CacheUse.model_validate(entry["cache"])
        found.append(_Used(use, entry.get("tokens", 0), entry.get("turn", 0), compacted))
    return found[::-1]


def _with_compaction(used: _Used) -> _Used:
    return _Used(used.use, used.tokens, used.turn, compacted=True)


def _why(former: _Used, later: _Used) -> CacheBreak:
    heads = zip(former.use.head.split("."), later.use.head.split("."), strict=False)
    changed = [before != after for before, after in heads]
    for kind, is_other in zip((CacheBreak.MODEL, CacheBreak.SYSTEM, CacheBreak.TOOLS), changed, strict=False):
        if is_other:
            return kind
    if later.compacted:
        return CacheBreak.COMPACTION
    pause_ms = later.use.at_ms - former.use.at_ms
    return CacheBreak.PAUSE if pause_ms > (LONG_MS if former.use.hour else SHORT_MS) else CacheBreak.UNKNOWN
