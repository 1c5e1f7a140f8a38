"""Logging: one line a record with its task, turn, fence and tool, as text or JSON, secrets cut out.

A turn gives the context of all its lines by `log_context`; other code that knows it gives it by `extra`:
`log.info("claimed", extra={"task": task_id, "turn": 3, "fence": 7})`. Turns count from 1, as in all that people read.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, TextIO

from neuraphage.redaction.redactor import Redactor

CONTEXT = ("task", "turn", "fence", "tool")
MAX_MESSAGE_CHARS = 20_000
"""Longer messages and tracebacks are cut, with a note of how much is missing."""


_here: ContextVar[Mapping[str, object]] = ContextVar("neuraphage_log_context", default=MappingProxyType({}))


@contextmanager
def log_context(**fields: object) -> Iterator[None]:
    """Give every line that this thread logs in the block these fields, whoever logs it.

    Args:
        fields: of CONTEXT.
    """
    token = _here.set({**_here.get(), **fields})
    try:
        yield
    finally:
        _here.reset(token)


def add_to_log_context(**fields: object) -> None:
    """Add fields to the innermost block of `log_context`, until its end."""
    known = _here.get()
    if isinstance(known, dict):
        known.update(fields)


class LineFormatter(logging.Formatter):
    """Turns a record into a line, and changes no record: other handlers see it as it was.

    A message never breaks its line, so nobody can forge a record with a newline. In text a traceback follows on
    indented lines; in JSON it is a field.

    Args:
        redactor: cuts secrets out of message, context and traceback.
        style: text or json.
    """

    def __init__(self, redactor: Redactor, style: Literal["text", "json"] = "text") -> None:
        super().__init__()
        self._redactor = redactor
        self._line_style = style

    def format(self, record: logging.LogRecord) -> str:
        """Format one record."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
        }
        for name in CONTEXT:
            value = getattr(record, name, None)
            value = _here.get().get(name) if value is None else value
            if value is not None:
                fields[name] = value if isinstance(value, int) else self._clean(str(value))
        fields["message"] = self._clean(self._message(record))
        trace = self._clean(self._trace(record))
        if self._line_style == "json":
            return json.dumps(fields | ({"trace": trace} if trace else {}), ensure_ascii=False)
        return _text_line(fields) + "".join(f"\n    {line}" for line in trace.splitlines())

    def _clean(self, text: str) -> str:
        """Redact first: a secret that the limit cuts in two would not be known any more."""
        clean = self._redactor.text(text)
        if len(clean) <= MAX_MESSAGE_CHARS:
            return clean
        return f"{clean[:MAX_MESSAGE_CHARS]}... [{len(clean) - MAX_MESSAGE_CHARS} characters more]"

    def _message(self, record: logging.LogRecord) -> str:
        try:
            return record.getMessage()
        except (TypeError, ValueError, KeyError) as error:
            return f"{record.msg} (its arguments do not fit: {error})"

    def _trace(self, record: logging.LogRecord) -> str:
        parts = [self.formatException(record.exc_info)] if record.exc_info else []
        if record.stack_info:
            parts.append(self.formatStack(record.stack_info))
        return "\n".join(parts)


def configure_logging(
    redactor: Redactor,
    *,
    level: int | str = logging.INFO,
    style: Literal["text", "json"] = "text",
    stream: TextIO | None = None,
) -> logging.Handler:
    """Send every record of this process through one redacting handler, in place of those of the root logger.

    Args:
        redactor: cuts secrets out.
        level: least level shown.
        style: text or json.
        stream: where to; None for standard error.

    Returns:
        The handler, so that a test or a library's own logger can use it too.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(redactor, style))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    return handler


def _text_line(fields: dict[str, Any]) -> str:
    context = "".join(f" {name}={_one_line(str(fields[name]))}" for name in CONTEXT if name in fields)
    head = f"{fields['time']} {fields['level']} {fields['logger']}{context}"
    return f"{head} {_one_line(fields['message'])}"


def _one_line(text: str) -> str:
    """Escape what would end a line or steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
