"""What every part of the store shares: the client, the keys and the limits."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.settings import Settings
from neuraphage.store.client import RedisClient
from neuraphage.store.keys import Keys

SIGNAL_KEYS_MAX = 1_000
"""Idempotency keys remembered a task; a repeat comes within seconds, not a thousand signals later."""
WHY_MAX = 200
"""Recovery decisions kept a task."""


@dataclass(frozen=True, slots=True)
class StoreContext:
    """Client, keys and settings.

    Args:
        client: the state server.
        keys: of one namespace.
        settings: limits and times.
    """

    client: RedisClient
    keys: Keys
    settings: Settings

    @property
    def lease_ms(self) -> int:
        """Lease length."""
        return int(self.settings.lease_s * 1000)

    def limit_args(self) -> list[int]:
        """events_max, republish_ms, exec_ms, conversation_ms: the order every script takes them in."""
        settings = self.settings
        return [
            settings.events_max,
            int(settings.first_republish_s * 1000),
            int(settings.exec_retention_s * 1000),
            int(settings.conversation_retention_s * 1000),
        ]
