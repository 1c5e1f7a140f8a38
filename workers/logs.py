"""Log lines of the Celery processes."""

from __future__ import annotations

import logging
from logging.handlers import WatchedFileHandler

from neuraphage.logs import configure_logging
from neuraphage.wiring import redactor


def configure(level: int | str | None, logfile: str | None = None) -> None:
    """One redacted line a record, on standard error or in a file.

    Args:
        level: least level shown, from `-l` of the command line; None for INFO.
        logfile: path from `--logfile` of the command line, which is all that a detached process can write to; opened
            again when a log rotation has moved it away.
    """
    handler = configure_logging(redactor(), level=level or logging.INFO)
    if logfile:
        in_file = WatchedFileHandler(logfile, encoding="utf-8")
        in_file.setFormatter(handler.formatter)
        logging.getLogger().handlers[:] = [in_file]
