"""Settings of how providers are called: the relay, and what all workers of a key share."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from neuraphage.setting_values import MAX_AMOUNT, ModelLimitLines, Seconds


class ProviderSettings(BaseModel):
    """A part of `Settings`."""

    relay: Literal["on", "off"] = "on"
    """Whether a process of this host holds the connections to the provider, so that a reply outlives its worker."""
    relay_calls: int = Field(default=1_024, ge=1, le=10_000)
    """Calls that it holds at one time; a worker makes further ones itself."""
    relay_quota_bytes: int = Field(default=1024**3, gt=0, le=MAX_AMOUNT)
    """Answers that it keeps on the disk; over it the oldest go, and while that does not help it takes no call."""
    relay_retention_s: Seconds = 3_600.0
    """How long it keeps an answer that no worker has said to have stored."""
    key_pool: str = Field(default="", pattern=r"^[A-Za-z0-9_.-]{0,64}$")
    """Name of the API key, for workers that share its limits; by default a short salted hash of it."""
    model_limits: ModelLimitLines = ()
    """What all workers of a key may use within a minute, as `claude-sonnet requests=50`; see docs/rate-limits.md."""
    model_limit_window_s: Seconds = 60.0
    """Over what time these limits hold; a shorter one has the calls spread more evenly."""
    learned_limits: Literal["on", "off"] = "on"
    """Whether workers keep limits that a provider tells of in its headers, where `model_limits` sets none."""
