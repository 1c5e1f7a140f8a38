"""Relations between settings: values that are right each by itself and wrong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuraphage.decide.model_limits import in_window, read_model_limits
from neuraphage.decide.tiers import OWN, resolved
from neuraphage.errors import BadInput

TAKEN_AGAIN_S = 10.0
"""A worker takes messages again so long after its path to the broker fell silent, if new connections get through."""
POP_S = 1.0
"""The broker answers a pop after so long, message or not (kombu's `brpop_timeout`)."""
RECONNECT_S = 2.0
"""Longest rest between two tries to reach the broker."""


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
    Relation("context_target_percent", "context_threshold_percent", "what is made shorter is to fit then"),
    Relation("spool_max_bytes", "spool_quota_bytes", "the spool must hold the output of one command"),
    Relation("spool_quota_bytes", "data_quota_bytes", "the spool is a part of the data folder"),
)


def overdue_look_s(broker_timeout_s: float) -> float:
    """How often it is looked for a pop whose answer is overdue, and how late an answer must be for that."""
    return broker_timeout_s * 2 / 3


def silent_broker_s(broker_timeout_s: float) -> float:
    """Sum of the waits until messages are taken again after a path to the broker fell silent: a pop, until it is seen
    to be overdue, one wait on another dead connection, and the rest before a new one."""
    return POP_S + 2 * overdue_look_s(broker_timeout_s) + broker_timeout_s + RECONNECT_S


def _small_limits(settings: Any) -> list[str]:
    """Limits of models that allow nothing within their window."""
    window_s = settings.model_limit_window_s
    return [
        f"model_limits: {line!r} allows less than one within model_limit_window_s ({window_s:.15g}); make it longer"
        for line in settings.model_limits
        if 0 in (in_window(most, window_s) for most in read_model_limits(line)[1].model_dump().values())
    ]


def _summary_model(settings: Any) -> list[str]:
    """That the setting names a tier that there is, or what may be the id of a model."""
    if settings.summary_model == OWN:
        return []
    try:
        resolved(settings.summary_model, settings.tiers)
    except BadInput as error:
        return [f"summary_model: {error}; or write {OWN} for the task's own model"]
    return []


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
    found += [*_small_limits(settings), *_summary_model(settings)]
    broker_s = settings.broker_timeout_s
    if silent_broker_s(broker_s) > TAKEN_AGAIN_S:
        fixed_s = silent_broker_s(0.0)
        longest_s = (TAKEN_AGAIN_S - fixed_s) / (silent_broker_s(1.0) - fixed_s)
        found.append(
            f"broker_timeout_s ({broker_s:.15g}) must not exceed {longest_s:.3g}: a worker whose path to the broker"
            f" drops everything in silence must take messages again within {TAKEN_AGAIN_S:.15g} s"
        )
    return found
