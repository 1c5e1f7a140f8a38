"""From the settings to the rules by which a task's state is explained."""

from __future__ import annotations

from neuraphage.decide.why import Rules
from neuraphage.settings import Settings


def rules_of(settings: Settings) -> Rules:
    """The settings that decide about tasks, as `explain` takes them."""
    return Rules(
        lease_ms=int(settings.lease_s * 1000),
        heartbeat_ms=int(settings.heartbeat_s * 1000),
        sweep_ms=int(settings.sweep_s * 1000),
        absent_host_ms=int(settings.absent_host_s * 1000),
        saved_max_age_ms=int(settings.saved_max_age_s * 1000),
        wait_poll_ms=int(settings.wait_poll_s * 1000),
        first_republish_ms=int(settings.first_republish_s * 1000),
        max_republish_ms=int(settings.max_republish_s * 1000),
        max_recoveries=settings.max_recoveries,
        recovery_policy=settings.recovery_policy.value,
    )
