"""Log lines of the Celery processes."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from neuraphage.client_wiring import redactor
from neuraphage.log_files import RotatingLogFile
from neuraphage.logs import LineFormatter, configure_logging, log_context
from neuraphage.queue.turn_message import turn_of
from neuraphage.settings import Settings


class WorkerLines(LineFormatter):
    """Lines of Celery itself about the message of a turn (received, succeeded, revoked) get its task and turn.

    They have no fence: a message is received before its turn is claimed, and may be told of after that is over.
    """

    def format(self, record: logging.LogRecord) -> str:
        """See LineFormatter."""
        if record.name.partition(".")[0] != "celery":
            return super().format(record)
        found = next((turn for text in _texts(record) if (turn := turn_of(text)) is not None), None)
        if found is None:
            return super().format(record)
        with log_context(task=found[0], turn=found[1] + 1):
            return super().format(record)


def configure(settings: Settings, level: int | str | None, logfile: str | None = None) -> None:
    """One redacted line a record, on standard error or in a file.

    Args:
        settings: log_format, log_max_bytes and log_files.
        level: least level shown, from `-l` of the command line; None for INFO.
        logfile: path from `--logfile` of the command line, which is all that a detached process can write to.
    """
    handler = configure_logging(redactor(), level=level or logging.INFO, style=settings.log_format)
    handler.setFormatter(WorkerLines(redactor(), settings.log_format))
    if logfile:
        in_file = RotatingLogFile(logfile, settings.log_max_bytes, settings.log_files)
        in_file.setFormatter(handler.formatter)
        logging.getLogger().handlers[:] = [in_file]


def _texts(record: logging.LogRecord) -> Iterator[str]:
    """Where Celery names the message that a line is about: among the arguments, by name or by place."""
    args = record.args
    values = [args.get("id")] if isinstance(args, dict) else args or ()
    yield from (value for value in values if isinstance(value, str))
