"""Settings: one frozen value, read from the environment (`NEURAPHAGE_*`), relations checked together.

Times end in _s (seconds) or _ms, sizes in _bytes or _chars, money in _microusd.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Self

from platformdirs import user_data_path
from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class RecoveryPolicy(StrEnum):
    """What happens to an orphan (K1)."""

    AUTO = "auto"
    """It goes on from its marker."""
    CONFIRM = "confirm"
    """Paused until a person resumes it."""
    OFF = "off"
    """As confirm, and the watcher does not look for dead processes."""


class Settings(BaseSettings):
    """All settings. Every limit of the product is here, named, with its unit last."""

    model_config = SettingsConfigDict(env_prefix="NEURAPHAGE_", frozen=True, extra="ignore")

    # where things are
    state_url: SecretStr = SecretStr("redis://127.0.0.1:6379/1")
    """State server: redis://, rediss:// or unix://; a database apart from the broker's."""
    broker_url: SecretStr = SecretStr("redis://127.0.0.1:6379/0")
    """Celery's broker."""
    namespace: str = Field(default="default", pattern=r"^[a-z0-9][a-z0-9_-]{0,31}$")
    """Prefix and hash tag of every key: the unit of scaling out."""
    data_dir: Path = Field(default_factory=lambda: user_data_path("neuraphage"))
    """Spool, embedded server, logs."""

    # the lease protocol (architecture: heartbeat 5 s, lease 20 s, sweep 5 s)
    heartbeat_s: float = Field(default=5.0, gt=0)
    lease_s: float = Field(default=20.0, gt=0)
    sweep_s: float = Field(default=5.0, gt=0)
    effect_max_s: float = Field(default=3_600.0, gt=0)
    """Longest single effect; past it the heartbeat stops renewing and the process drains and exits."""
    watcher_interval_s: float = Field(default=0.1, gt=0)
    absent_host_s: float = Field(default=2.0, gt=0)
    """How long a process of another host must be absent before it counts as gone."""
    first_republish_s: float = Field(default=5.0, gt=0)
    max_republish_s: float = Field(default=60.0, gt=0)
    wait_poll_s: float = Field(default=60.0, gt=0)
    """Fallback poll of a task that waits for a lock or a child."""

    # recovery
    recovery_policy: RecoveryPolicy = RecoveryPolicy.AUTO
    max_recoveries: int = Field(default=3, ge=0)
    """Recoveries without a new outcome commit before a task counts as poison (R248)."""
    saved_max_age_s: float = Field(default=86_400.0, gt=0)
    """An orphan whose last commit is older is failed, not resumed (K5)."""
    spool_enabled: bool = True
    """Off: commands run as children of the worker and die with it. A negative control; keep it on."""

    # the model
    anthropic_base_url: str | None = None
    default_model: str = "claude-sonnet-5-5"
    max_tokens: int = Field(default=16_384, ge=1)
    connect_timeout_s: float = Field(default=10.0, gt=0)
    read_timeout_s: float = Field(default=60.0, gt=0)
    """Longest silence inside a stream."""
    call_timeout_s: float = Field(default=900.0, gt=0)
    """Longest whole call."""
    max_continues: int = Field(default=10, ge=0)
    """Consecutive turns that ended by max_tokens or pause_turn."""

    # limits
    max_turns: int = Field(default=50, ge=0)
    max_cost_microusd: int = Field(default=10_000_000, ge=0)
    max_entry_bytes: int = Field(default=1_000_000, gt=0)
    """Largest conversation entry; bigger ones are refused with a clear failure (R192)."""
    max_inbox_items: int = Field(default=1_000, gt=0)
    max_prompt_chars: int = Field(default=1_000_000, gt=0)
    events_max: int = Field(default=10_000, gt=0)
    """History lines kept a task (about)."""
    live_max: int = Field(default=1_000, gt=0)
    live_ttl_s: float = Field(default=60.0, gt=0)
    spool_max_bytes: int = Field(default=64 * 1024 * 1024, gt=0)
    """Largest output of one command; past it the command is ended."""

    # how long ended tasks are kept: R245
    exec_retention_s: float = Field(default=86_400.0, gt=0)
    conversation_retention_s: float = Field(default=30 * 86_400.0, gt=0)
    tombstone_retention_s: float = Field(default=365 * 86_400.0, gt=0)

    @model_validator(mode="after")
    def _relations(self) -> Self:
        rules = [
            (
                self.heartbeat_s * 3 <= self.lease_s,
                "heartbeat_s times 3 must not exceed lease_s: two renewals may be lost",
            ),
            (
                self.call_timeout_s <= self.effect_max_s,
                "call_timeout_s must not exceed effect_max_s: a call must end before its process drains",
            ),
            (self.read_timeout_s <= self.call_timeout_s, "read_timeout_s must not exceed call_timeout_s"),
            (
                self.first_republish_s <= self.max_republish_s,
                "first_republish_s must not exceed max_republish_s",
            ),
            (
                self.exec_retention_s <= self.conversation_retention_s,
                "exec_retention_s must not exceed conversation_retention_s",
            ),
        ]
        clashes = [text for holds, text in rules if not holds]
        if clashes:
            raise ValueError("; ".join(clashes))
        return self
