"""The provider's prompt cache, by its rules: what of a prompt is read from it, and what is written.

It holds prefixes of tools, system and messages, in this order. A breakpoint (`cache_control`) ends a prefix that is
written, if that has the shortest length that the model caches. A prefix is found by its bytes at a breakpoint, or at
one of the 20 blocks before it. It lives for 5 minutes, or an hour where its breakpoint says so; each use begins that
anew.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from neuraphage.llm.model_table import ModelTable
from neuraphage.testing.scripted_api.message import as_list, bare, compact, tokens_in

LOOK_BACK_BLOCKS = 20
LIFETIMES_S = {"5m": 300.0, "1h": 3_600.0}


@dataclass(frozen=True, slots=True)
class _Place:
    """The end of one block of a prompt.

    Args:
        digest: of all up to here.
        tokens: of all up to here.
        ttl: of the breakpoint here; None where there is none.
    """

    digest: bytes
    tokens: int
    ttl: str | None


@dataclass(slots=True)
class _Kept:
    """A prefix in the cache.

    Args:
        lifetime_s: begins anew with each use.
        until_s: when it ends.
    """

    lifetime_s: float
    until_s: float


class PromptCache:
    """The cache of one server. Thread-safe.

    Args:
        now_s: seconds of a clock that never goes back; tests pass their own.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._kept: dict[bytes, _Kept] = {}
        self._lock = threading.Lock()
        self._models = ModelTable.packaged()

    def clear(self) -> None:
        """Forget all prompts."""
        with self._lock:
            self._kept.clear()

    def use(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Count a prompt, and keep what its breakpoints say.

        Returns:
            The fields of `usage` about the prompt.
        """
        places = _places(body)
        shortest = self._models.facts(body["model"]).cacheable_tokens
        with self._lock:
            now_s = self._now_s()
            self._kept = {digest: kept for digest, kept in self._kept.items() if kept.until_s >= now_s}
            marked = [index for index, place in enumerate(places) if place.ttl and place.tokens >= shortest]
            found = max((hit for index in marked if (hit := self._found(places, index)) is not None), default=None)
            read = 0 if found is None else places[found].tokens
            for place in places[: 0 if found is None else found + 1]:
                if (kept := self._kept.get(place.digest)) is not None:
                    kept.until_s = now_s + kept.lifetime_s
            written = dict.fromkeys(LIFETIMES_S, 0)
            end = read
            for index in marked:
                place, ttl = places[index], places[index].ttl or ""
                if place.tokens > end:
                    written[ttl] += place.tokens - end
                    end = place.tokens
                    self._kept[place.digest] = _Kept(LIFETIMES_S[ttl], now_s + LIFETIMES_S[ttl])
        return {
            "input_tokens": (places[-1].tokens if places else 0) - end,
            "cache_creation_input_tokens": sum(written.values()),
            "cache_read_input_tokens": read,
            "cache_creation": {f"ephemeral_{ttl}_input_tokens": tokens for ttl, tokens in written.items()},
        }

    def _found(self, places: list[_Place], index: int) -> int | None:
        """The longest prefix in the cache that ends at a breakpoint or at one of the blocks before it."""
        for at in range(index, max(-1, index - LOOK_BACK_BLOCKS - 1), -1):
            if places[at].digest in self._kept:
                return at
        return None


def _places(body: Mapping[str, Any]) -> list[_Place]:
    """The ends of all blocks, in the order of the cache. Another model has a cache of its own."""
    blocks = [("tools", tool) for tool in body.get("tools") or ()]
    blocks += [("system", block) for block in as_list(body.get("system"))]
    for number, message in enumerate(body["messages"]):
        # blocks of one message and of the next one of its role are not the same prefix
        blocks += [(f"{message['role']} {number}", block) for block in as_list(message["content"])]
    digest, tokens = hashlib.sha256(str(body["model"]).encode()), 0
    places = []
    for where, block in blocks:
        digest.update(f"\n{where} ".encode() + compact(bare(block)).encode("utf-8", "surrogatepass"))
        tokens += tokens_in(bare(block))
        mark = block.get("cache_control")
        places.append(_Place(digest.copy().digest(), tokens, (mark.get("ttl") or "5m") if mark else None))
    return places
