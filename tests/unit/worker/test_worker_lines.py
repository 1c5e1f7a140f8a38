"""Celery's own lines about a turn's message have the turn's task and number, as ours have."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest
from celery.app import trace
from celery.worker import request, strategy

from neuraphage.logs import log_context
from neuraphage.queue.names import RUN_TURN, SWEEP
from neuraphage.queue.turn_message import message_id, turn_of
from neuraphage.settings import Settings
from neuraphage.worker.logs import configure

TASK = "task-01a2-b"
OURS = "task=task-01a2-b turn=4 "
"""The fourth turn."""


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What a worker writes on standard error; the root logger is put back."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setattr("sys.stderr", stream)
    configure(Settings(), None)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.parametrize("logger", [strategy.logger, trace.logger, request.logger], ids=lambda logger: logger.name)
def test_a_line_that_names_the_message(logged: io.StringIO, logger: logging.Logger) -> None:
    """By name, as most do, or by its place among the arguments."""
    message = message_id(TASK, 3, 17)
    context = {"id": message, "name": RUN_TURN, "args": "turn 4"}
    logger.info(trace.LOG_RECEIVED, context, extra={"data": context})
    logger.info("Task %s[%s] retry: %s", RUN_TURN, message, "why")
    assert [line.partition(f"{logger.name} ")[2] for line in logged.getvalue().splitlines()] == [
        f"{OURS}Task {RUN_TURN}[{message}] received",
        f"{OURS}Task {RUN_TURN}[{message}] retry: why",
    ]


def test_other_lines_are_left_alone(logged: io.StringIO) -> None:
    """Of a sweep, of a worker whose name looks like a version or an address, without arguments; ours say it all."""
    context = {"id": "0b1d7f6e-3c1f-4d0a-9a51-000000000000", "name": SWEEP}
    strategy.logger.info(trace.LOG_RECEIVED, context)
    strategy.logger.info("%s ready.", "worker@10.0.0.1")
    strategy.logger.info("%s: %r", {"id": 3}, None)
    strategy.logger.info("mingle: all alone")
    logging.getLogger("neuraphage.x").warning("sent %s", message_id("another", 8, 1))
    assert " task=" not in logged.getvalue()
    with log_context(task=TASK, turn=4, fence=9):
        trace.logger.info("inside")
    assert f"{OURS}fence=9 inside" in logged.getvalue()


def test_an_id_is_read_as_it_was_made() -> None:
    """Also of a task with dots in its id."""
    assert turn_of(message_id("a.1.2.b", 3, 17)) == ("a.1.2.b", 3)
    others = ("", TASK, f"{TASK}.3.17", f"{TASK}.x.17.ab12", f".3.17.ab12 {TASK}")
    assert [turn_of(text) for text in others] == [None] * len(others)
