"""Health of the worker processes of this host, from files alone: no server is asked, nothing of one is imported."""

from __future__ import annotations

from pathlib import Path

from neuraphage.model.health import Health
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.health import health_folder, read_health
from neuraphage.settings import Settings


def host_health(settings: Settings) -> list[Health]:
    """Health of every worker process of this namespace on this host; see runtime.health."""
    return read_health(health_folder(Path(settings.data_dir), settings.namespace), SystemClock())
