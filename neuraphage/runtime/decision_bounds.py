"""The limits of the settings that decisions need: read once a process, since settings stay."""

from __future__ import annotations

from neuraphage.decide.own_anomalies import anomaly_rules
from neuraphage.decide.snapshot import Bounds
from neuraphage.model.tool_traits import RatedKind
from neuraphage.settings import Settings


def bounds_of_decisions(settings: Settings) -> Bounds:
    """The limits of the settings that decisions need."""
    rates = {
        RatedKind.WRITES: settings.task_writes_per_minute,
        RatedKind.COMMANDS: settings.task_commands_per_minute,
    }
    per_minute = {kind: most for kind, most in rates.items() if most != "none"}
    return Bounds(
        settings.max_continues,
        settings.max_empty_replies,
        per_minute,
        max_recovery_cost_microusd=settings.max_recovery_cost_microusd,
        pool_wait_ms=int(settings.pool_wait_s * 1000),
        fails_at_pool=settings.on_exhausted_pool == "fail",
        anomalies=anomaly_rules(settings.anomalies),
    )
