"""A limit that the scripted API enforces, as the real one does: requests within a window, and headers that tell."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from datetime import UTC, datetime

MOST_KEPT = 100_000


class RateLimit:
    """So many requests within any window; those over it are refused with 429. Thread-safe.

    Args:
        requests: the most.
        window_s: length of the window.
    """

    def __init__(self, requests: int, window_s: float) -> None:
        if not 1 <= requests <= MOST_KEPT or not 0.01 <= window_s <= 86_400:
            raise ValueError(f"a limit is of 1 to {MOST_KEPT} requests within 0.01 to 86400 s")
        self._requests = requests
        self._window_s = window_s
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
            left_s = self._taken_s[0] + self._window_s - now_s
            return is_allowed, self._headers(left_s, is_allowed=is_allowed)

    def _headers(self, left_s: float, *, is_allowed: bool) -> dict[str, str]:
        reset = datetime.fromtimestamp(time.time() + left_s, UTC).isoformat()
        told = {
            "anthropic-ratelimit-requests-limit": str(self._requests),
            "anthropic-ratelimit-requests-remaining": str(self._requests - len(self._taken_s)),
            "anthropic-ratelimit-requests-reset": reset,
            "x-ratelimit-limit-requests": str(self._requests),
        }
        if not is_allowed:
            told |= {"retry-after": str(math.ceil(left_s)), "retry-after-ms": str(math.ceil(left_s * 1000))}
        return told
