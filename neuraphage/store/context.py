"""What every part of the store shares: the client, the keys and the limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuraphage.settings import Settings
from neuraphage.store.client import RedisClient, connect
from neuraphage.store.conversations import Conversations
from neuraphage.store.encode import dumps
from neuraphage.store.keys import Keys
from neuraphage.store.round_trip import RoundTrips

SIGNAL_KEYS_MAX = 1_000
"""Idempotency keys remembered a task; a repeat comes within seconds, not a thousand signals later."""
WHY_MAX = 200
"""Decisions of the sweep and the watchers kept a task."""


@dataclass(frozen=True, slots=True)
class StoreContext:
    """Client, keys and settings.

    Args:
        client: the state server.
        keys: of one namespace.
        settings: limits and times.

    `round_trips` is how scripts are sent, over a connection a thread; `conversations` spares a claim reading what
    this process has written itself; `slot_rules` is how many tasks may be at work, as scripts are told.
    """

    client: RedisClient
    keys: Keys
    settings: Settings
    round_trips: RoundTrips = field(init=False, repr=False, compare=False)
    conversations: Conversations = field(init=False, repr=False, compare=False)
    _pools: bytes = field(init=False, repr=False, compare=False)
    slot_rules: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "round_trips", RoundTrips(self.client))
        object.__setattr__(self, "conversations", Conversations())
        limits = self.settings.pool_limits
        object.__setattr__(self, "_pools", dumps(limits) if limits else b"")
        rules = self.settings.slot_rules
        object.__setattr__(self, "slot_rules", dumps(rules) if rules else b"")

    @property
    def lease_ms(self) -> int:
        """Lease length, milliseconds."""
        return int(self.settings.lease_s * 1000)

    @property
    def renew_slack_ms(self) -> int:
        """How much of a lease may have run before a commit renews it; far less than what makes a lease suspect."""
        return min(1_000, int(self.settings.heartbeat_s * 200))

    @property
    def pools(self) -> dict[str, object]:
        """What scripts that may spend money are given (see bindings)."""
        settings = self.settings
        return {
            "pools": self._pools,
            "ledger_days": settings.ledger_days,
            "ledger_rows": settings.ledger_max,
        }

    @property
    def all_events_max(self) -> dict[str, int]:
        """What scripts are given that shorten the stream of the namespace."""
        return {"namespace_events_max": self.settings.namespace_events_max}

    @property
    def limits(self) -> dict[str, int]:
        """What nearly every script is given (see bindings.LIMITS)."""
        settings = self.settings
        return {
            "events_max": settings.events_max,
            "republish_ms": int(settings.first_republish_s * 1000),
            "exec_ms": int(settings.exec_retention_s * 1000),
            "conversation_ms": int(settings.conversation_retention_s * 1000),
        }


def open_context(settings: Settings, client: RedisClient | None = None) -> StoreContext:
    """The context of these settings; connects when first used.

    Args:
        settings: where the state server is, limits and times.
        client: the state server; made from `settings.state_url` when not given.

    Raises:
        SettingsError: the URL cannot be read.
    """
    url, wait_s = settings.state_url.get_secret_value(), settings.state_wait_s
    return StoreContext(client or connect(url, socket_timeout_s=wait_s), Keys(settings.namespace), settings)
