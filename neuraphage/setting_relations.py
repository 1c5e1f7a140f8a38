"""Relations between settings: values that are right each by itself and wrong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Relation:
    """One setting, times a factor, must not exceed another.

    Args:
        small: name of the one.
        large: name of the other.
        why: the reason, for people.
        factor: how many of the small one must fit.
    """

    small: str
    large: str
    why: str
    factor: int = 1

    def clash(self, settings: Any) -> str | None:
        """A sentence with both names and both values when it does not hold."""
        small, large = getattr(settings, self.small), getattr(settings, self.large)
        if small * self.factor <= large:
            return None
        times = f" times {self.factor}" if self.factor > 1 else ""
        return f"{self.small} ({small:.15g}){times} must not exceed {self.large} ({large:.15g}): {self.why}"


RELATIONS = (
    Relation("heartbeat_s", "lease_s", "two renewals of a lease may be lost", 3),
    Relation("watcher_interval_s", "absent_host_s", "an absence is seen at more than one look"),
    Relation("call_timeout_s", "effect_max_s", "a call must end before its process drains"),
    Relation("read_timeout_s", "call_timeout_s", "a silence inside a stream is a part of its call"),
    Relation("connect_timeout_s", "call_timeout_s", "connecting is a part of a call"),
    Relation("first_republish_s", "max_republish_s", "the time between two publications only grows"),
    Relation("exec_retention_s", "conversation_retention_s", "a conversation is kept as long as its task"),
    Relation("conversation_retention_s", "tombstone_retention_s", "an id is remembered as long as its conversation"),
    Relation("spool_max_bytes", "spool_quota_bytes", "the spool must hold the output of one command"),
    Relation("spool_quota_bytes", "data_quota_bytes", "the spool is a part of the data folder"),
)


def clashes(settings: Any) -> list[str]:
    """What does not fit together, each in a sentence.

    Args:
        settings: a value of `Settings`.
    """
    found = [text for relation in RELATIONS if (text := relation.clash(settings))]
    wait_s = settings.state_timeout_s
    if wait_s is not None and settings.heartbeat_s + 2 * wait_s > settings.lease_s:
        found.append(
            f"heartbeat_s ({settings.heartbeat_s:.15g}) and two times state_timeout_s ({wait_s:.15g}) together must not"
            f" exceed lease_s ({settings.lease_s:.15g}): a renewal over a dead connection is tried once more in time"
        )
    return found
