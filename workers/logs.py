"""Log lines of the Celery processes."""

from __future__ import annotations

from neuraphage.logs import configure_logging
from neuraphage.settings import Settings
from neuraphage.wiring import redactor


def configure(settings: Settings) -> None:
    """One redacted line a record, on standard error."""
    del settings
    configure_logging(redactor())
