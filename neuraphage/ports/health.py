"""What a worker's health rests on beyond its own process."""

from __future__ import annotations

from typing import Protocol


class HealthStore(Protocol):
    """Proves that the state server takes what a turn writes."""

    def touch_health(self, name: str, ttl_ms: int) -> None:
        """Write a small value that expires.

        Args:
            name: of the process.
            ttl_ms: until it expires.

        Raises:
            StoreUnavailable, StoreError: the server did not take it.
        """
        ...

    def check_access(self) -> bool:
        """See that the server lets this user run every command, and that no index is damaged.

        Returns:
            Whether the server told its rules; an old one was tried by writes that are taken away again.

        Raises:
            AccessRefused, DamagedKey: it could end no turn; the message names command and key.
            StoreUnavailable, StoreError: the server does not answer.
        """
        ...
