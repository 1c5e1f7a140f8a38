"""Log lines of the Celery processes."""

from __future__ import annotations

import logging

from neuraphage.client_wiring import redactor
from neuraphage.log_files import RotatingLogFile
from neuraphage.logs import configure_logging
from neuraphage.settings import Settings


def configure(settings: Settings, level: int | str | None, logfile: str | None = None) -> None:
    """One redacted line a record, on standard error or in a file.

    Args:
        settings: log_format, log_max_bytes and log_files.
        level: least level shown, from `-l` of the command line; None for INFO.
        logfile: path from `--logfile` of the command line, which is all that a detached process can write to.
    """
    handler = configure_logging(redactor(), level=level or logging.INFO, style=settings.log_format)
    if logfile:
        in_file = RotatingLogFile(logfile, settings.log_max_bytes, settings.log_files)
        in_file.setFormatter(handler.formatter)
        logging.getLogger().handlers[:] = [in_file]
