"""A limit that the scripted API enforces, as the real ones do: requests within a window, and headers that tell."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from datetime import UTC, datetime

MOST_KEPT = 100_000


class RateLimit:
    """So many requests within any window; those over it are refused with 429. Thread-safe.

    Its headers are those of both APIs, with the times at which all is there again.

    Args:
        requests: the most.
        window_s: length of the window.
        told_per: for how many of its windows the headers tell limit and rest: 10, where a window of 6 s stands for a
            minute.
    """

    def __init__(self, requests: int, window_s: float, told_per: int = 1) -> None:
        if not 1 <= requests <= MOST_KEPT or not 0.01 <= window_s <= 86_400:
            raise ValueError(f"a limit is of 1 to {MOST_KEPT} requests within 0.01 to 86400 s")
        self._requests = requests
        self._window_s = window_s
        self._told_per = told_per
        self._taken_s: deque[float] = deque()
        self._lock = threading.Lock()

    def take(self) -> tuple[bool, dict[str, str]]:
        """Count one request, if it is allowed.

        Returns:
            Whether it is, and the headers of its answer.
        """
        with self._lock:
            now_s = time.monotonic()
            while self._taken_s and self._taken_s[0] <= now_s - self._window_s:
                self._taken_s.popleft()
            is_allowed = len(self._taken_s) < self._requests
            if is_allowed:
                self._taken_s.append(now_s)
            told = self._headers(self._taken_s[-1] + self._window_s - now_s)
            if not is_allowed:
                next_s = self._taken_s[0] + self._window_s - now_s
                told |= {"retry-after": str(math.ceil(next_s)), "retry-after-ms": str(math.ceil(next_s * 1000))}
            return is_allowed, told

    def _headers(self, whole_s: float) -> dict[str, str]:
        limit = str(self._requests * self._told_per)
        left = str((self._requests - len(self._taken_s)) * self._told_per)
        return {
            "anthropic-ratelimit-requests-limit": limit,
            "anthropic-ratelimit-requests-remaining": left,
            "anthropic-ratelimit-requests-reset": datetime.fromtimestamp(time.time() + whole_s, UTC).isoformat(),
            "x-ratelimit-limit-requests": limit,
            "x-ratelimit-remaining-requests": left,
            "x-ratelimit-reset-requests": f"{math.ceil(whole_s * 1000)}ms",
        }
