"""Log lines: context, one line a record, no secret in any part of it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from types import TracebackType

import pytest

from neuraphage.logs import MAX_MESSAGE_CHARS, LineFormatter, configure_logging
from neuraphage.redaction.redactor import Redactor

SECRET = "correct horse battery"


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, put back afterwards."""
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("np.turn", logging.INFO, __file__, 1, message, args, None)
    made.__dict__.update(extra)
    return made


def raised(message: str) -> tuple[type[ValueError], ValueError, TracebackType | None]:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is the caller's
        int(message)
    error = ValueError(message)
    return ValueError, error, caught.tb


def text(made: logging.LogRecord) -> str:
    return LineFormatter(Redactor(secrets=[SECRET])).format(made)


def as_json(made: logging.LogRecord) -> dict[str, object]:
    line = LineFormatter(Redactor(secrets=[SECRET]), "json").format(made)
    assert "\n" not in line
    parsed: dict[str, object] = json.loads(line)
    return parsed


def test_context_is_shown_when_given() -> None:
    """Task, turn and fence stand in the line; what is not given does not."""
    assert text(record("claimed", task="task-1", turn=1, fence=7)).endswith(
        " INFO np.turn task=task-1 turn=1 fence=7 claimed"
    )
    assert text(record("idle")).endswith(" INFO np.turn idle")
    parsed = as_json(record("claimed", task="task-1", turn=1))
    assert (parsed["task"], parsed["turn"], parsed["message"]) == ("task-1", 1, "claimed")
    assert "fence" not in parsed


def test_message_arguments_context_and_traceback_are_redacted() -> None:
    """A secret goes from wherever it came in, and the record itself stays as it was."""
    made = record("in %s", f"<{SECRET}>", task=SECRET)
    made.exc_info = raised(SECRET)
    made.stack_info = f"Stack: {SECRET}"
    for line in (text(made), json.dumps(as_json(made))):
        assert SECRET not in line
        assert line.count("[redacted:secret]") >= 4
        assert "ValueError" in line
    assert made.getMessage() == f"in <{SECRET}>"
    assert made.exc_text is None


def test_a_message_cannot_forge_a_line() -> None:
    """Line ends and terminal codes in a message or in the context are shown, not obeyed."""
    line = text(record("a\nINFO forged\x1b[2J", task="t\nforged"))
    assert "\n" not in line
    assert "\x1b" not in line
    assert "a\\nINFO forged\\x1b[2J" in line


def test_a_traceback_is_indented() -> None:
    """In text a traceback keeps its lines, and none of them looks like a record."""
    made = record("failed")
    made.exc_info = raised("x\n2026 forged")
    first, *rest = text(made).splitlines()
    assert first.endswith("failed")
    assert rest
    assert all(line.startswith("    ") for line in rest)


def test_long_messages_are_cut_after_redaction() -> None:
    """The limit holds, and it cannot cut a secret in two so that half of it stays."""
    message = "x" * (MAX_MESSAGE_CHARS - 5) + SECRET + "y" * 100
    line = text(record(message))
    assert SECRET[:5] not in line
    assert len(line) < MAX_MESSAGE_CHARS + 200
    assert line.endswith("characters more]")


def test_arguments_that_do_not_fit_are_told() -> None:
    """A bug in a log call costs no line and raises nothing."""
    assert "%d (its arguments do not fit" in text(record("%d", "x"))


def test_configure_replaces_the_root_handlers(root: logging.Logger) -> None:
    """Every logger's records come out once, redacted, from the level on."""
    stream = io.StringIO()
    configure_logging(Redactor(secrets=[SECRET]), level="WARNING", style="json", stream=stream)
    handler = configure_logging(Redactor(secrets=[SECRET]), level="WARNING", style="json", stream=stream)
    logging.getLogger("some.library").warning("got %s", SECRET)
    logging.getLogger("some.library").info("quiet")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["message"] == "got [redacted:secret]"
    assert root.handlers == [handler]
