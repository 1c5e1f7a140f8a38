"""The setting about anomalies: when a task leads nowhere. A part of `settings.Settings`."""

from __future__ import annotations

from pydantic import BaseModel

from neuraphage.setting_values import AnomalyLines


class AnomalySettings(BaseModel):
    """A part of `Settings`."""

    anomalies: AnomalyLines = ()
    """What is done when a task leads nowhere, as `same_call_fails pause 5`; see docs/anomalies.md."""
