"""Waiting for a condition, with a limit and words for the failure."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from patience import PATIENCE_S

T = TypeVar("T")

LIMIT_S = PATIENCE_S
"""Long enough for a loaded machine; a test that needs it is broken, not slow."""
LOOK_AGAIN_S = 0.01


def wait_for(condition: Callable[[], T], what: str, *, limit_s: float = LIMIT_S, every_s: float = LOOK_AGAIN_S) -> T:
    """Ask again and again until the answer is truthy.

    Args:
        condition: what to ask.
        what: what is waited for, for the failure's words.
        limit_s: seconds until it is given up.
        every_s: seconds between two looks.

    Returns:
        The truthy answer.

    Raises:
        AssertionError: it did not come in time; says the last answer.
    """
    deadline_s = time.monotonic() + limit_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline_s:
            raise AssertionError(f"waited {limit_s:g} s for {what}; the last answer was {answer!r}")
        time.sleep(every_s)
