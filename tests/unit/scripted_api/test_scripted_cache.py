"""The scripted API's prompt cache keeps the provider's rules."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.testing.scripted_api.message import prompt_tokens
from neuraphage.testing.scripted_api.prompt_cache import LOOK_BACK_BLOCKS, PromptCache
from neuraphage.testing.scripted_api.rules import Refused, check_body
from neuraphage.testing.scripted_api.shape import MessagesBody

SHORT, HOUR = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
WORDS = "word " * 1_000
"""More than the shortest prefix that `scripted-1` caches, 1024 tokens."""


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> PromptCache:
    return PromptCache(clock)


def text(words: str, mark: dict[str, str] | None = None) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"cache_control": mark} if mark else {})}


def body(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "scripted-1", "max_tokens": 9, "messages": [{"role": "user", "content": list(blocks)}], **more}


def counts(usage: dict[str, Any]) -> tuple[int, int, int]:
    """Read, written, in full."""
    return usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"], usage["input_tokens"]


def test_a_prefix_is_written_and_then_read(cache: PromptCache) -> None:
    """All of the prompt is counted once, whatever of it is cached."""
    first = body(text(WORDS, SHORT), text("end"))
    read, written, full = counts(cache.use(first))
    assert (read, written > 1_024, 0 < full < 10) == (0, True, True)
    assert read + written + full == prompt_tokens(first)
    assert counts(cache.use(first)) == (written, 0, full)
    longer = body(text(WORDS), text("end"), text("more", SHORT))
    assert counts(cache.use(longer))[0] == written


@pytest.mark.parametrize(
    "change",
    [
        {"model": "scripted-10"},
        {"tools": [{"name": "x", "input_schema": {"type": "object"}}]},
        {"system": "s"},
    ],
)
def test_whatever_stands_before_is_part_of_it(cache: PromptCache, change: dict[str, Any]) -> None:
    """Another model, tools or system text: nothing is found."""
    cache.use(body(text(WORDS, SHORT)))
    assert counts(cache.use(body(text(WORDS, SHORT), **change)))[0] == 0


def test_tools_and_system_are_read_where_messages_differ(cache: PromptCache) -> None:
    """Each breakpoint ends a prefix of its own."""
    system = [text(WORDS, SHORT)]
    written = counts(cache.use(body(text("a", SHORT), system=system)))[1]
    read, more, _ = counts(cache.use(body(text("b", SHORT), system=system)))
    assert read > 1_024
    assert read + more == written


def test_a_short_prefix_is_not_cached(cache: PromptCache) -> None:
    """By the model's own minimum."""
    assert counts(cache.use(body(text("word " * 500, SHORT))))[1] == 0
    assert counts(cache.use(body(text("word " * 2_000, SHORT), model="a-model-of-someone")))[1] == 0
    assert counts(cache.use(body(text("word " * 2_000, SHORT), model="claude-sonnet-5-5")))[1] > 0
    assert counts(cache.use(body(text("word " * 500, SHORT), model="claude-haiku-5-5")))[1] > 0


@pytest.mark.parametrize(("between", "found"), [(LOOK_BACK_BLOCKS, True), (LOOK_BACK_BLOCKS + 1, False)])
def test_it_is_looked_for_twenty_blocks_back(cache: PromptCache, between: int, found: bool) -> None:
    """And no further, however recent it is."""
    cache.use(body(text(WORDS, SHORT)))
    blocks = [text(str(number)) for number in range(between - 1)]
    read = counts(cache.use(body(text(WORDS), *blocks, text("last", SHORT))))[0]
    assert (read > 0) is found


@pytest.mark.parametrize(("mark", "lifetime_s"), [(SHORT, 300.0), (HOUR, 3_600.0)])
def test_it_lives_as_long_as_its_breakpoint_says_and_each_use_renews_it(
    cache: PromptCache, clock: Clock, mark: dict[str, str], lifetime_s: float
) -> None:
    """A use a moment before its end begins its life anew."""
    used = cache.use(body(text(WORDS, mark)))
    assert used["cache_creation"]["ephemeral_1h_input_tokens"] == (counts(used)[1] if mark is HOUR else 0)
    for _ in range(3):
        clock.now_s += lifetime_s
        assert counts(cache.use(body(text(WORDS, mark))))[0] > 0
    clock.now_s += lifetime_s + 1
    assert counts(cache.use(body(text(WORDS, mark))))[0] == 0


def test_an_hour_behind_five_minutes_is_refused() -> None:
    """The other way round is not."""
    check_body(body(text("a", HOUR), text("b", SHORT)), MessagesBody)
    with pytest.raises(Refused, match="must not come after"):
        check_body(body(text("a", SHORT), text("b", HOUR)), MessagesBody)
