"""Log lines of the Celery processes."""

from __future__ import annotations

import logging

from neuraphage.logs import configure_logging
from neuraphage.wiring import redactor


def configure(level: int | str | None) -> None:
    """One redacted line a record, on standard error.

    Args:
        level: least level shown, from `-l` of the command line; None for INFO.
    """
    configure_logging(redactor(), level=level or logging.INFO)
