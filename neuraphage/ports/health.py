"""What a worker's health rests on beyond its own process."""

from __future__ import annotations

from typing import Protocol


class HealthStore(Protocol):
    """Proves that the state server takes writes."""

    def touch_health(self, name: str, ttl_ms: int) -> None:
        """Write a small value that expires.

        Args:
            name: of the process.
            ttl_ms: until it expires.

        Raises:
            StoreUnavailable, StoreError: the server did not take it.
        """
        ...
