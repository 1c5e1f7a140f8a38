"""What a request costs to put together in a long conversation, beside one that has just begun."""

from __future__ import annotations

import time
from typing import Any

from neuraphage.decide.assembly import Assembly
from neuraphage.decide.compaction import is_due
from neuraphage.decide.context_bounds import ContextBounds
from neuraphage.decide.prompt_cache import lifetime

TURNS = 1_000
BOUNDS = ContextBounds(10**9, 10**9, 10**9, 4_096, 20)


def turn(number: int) -> list[dict[str, Any]]:
    """A reply of one call, and its result."""
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_file", "input": {"path": f"src/{number}.py"}}
    cache = {"read": 90 * number, "written": 100, "at_ms": 20_000 * number, "head": "a.b.c"}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "a line of a file\n" * 100}
    return [
        {"role": "assistant", "content": [call], "turn": number, "tokens": 100 * number + 1, "cache": cache},
        {"role": "user", "content": [result], "turn": number},
    ]


def wall_ms(times: int) -> tuple[list[float], list[float]]:
    """Milliseconds from new entries to a request, of turn 1,000 and of turn 2.

    That is its messages, whether they are too long, and how long the provider is to keep them.

    Args:
        times: requests of each.
    """
    return _wall_ms(TURNS, times), _wall_ms(2, times)


def _wall_ms(turns: int, times: int) -> list[float]:
    begin = [{"role": "user", "content": [{"type": "text", "text": "Do it."}]}]
    entries = begin + [entry for number in range(turns - 1) for entry in turn(number)]
    assembly, took_ms = Assembly(), []
    assembly.request_messages(entries)
    for number in range(turns, turns + times):
        entries = [*entries, *turn(number)]
        begun_s = time.perf_counter()
        assembly.request_messages(entries)
        is_due(entries, BOUNDS)
        lifetime(entries)
        took_ms.append((time.perf_counter() - begun_s) * 1_000)
    return took_ms
