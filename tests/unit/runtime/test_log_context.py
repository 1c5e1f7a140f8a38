"""Each line that is logged in a turn tells of which task, turn, fence and tool, whoever logs it."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from neuraphage.client_wiring import redactor
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.logs import add_to_log_context, configure_logging, log_context
from neuraphage.model.message import ModelReply
from neuraphage.model.tool import ToolResult
from turnkit import FakeTool, Rig, calls, says

CONTEXT = ("task", "turn", "fence", "tool")


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Everything that is logged, as JSON, through the product's own handler; the root logger is put back."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    configure_logging(redactor(), level=logging.DEBUG, style="json", stream=stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """The lines, parsed."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def speaks(params: Any, context: Any) -> ToolResult:
    logging.getLogger("a.library").info("of a library that knows of no task")
    return ToolResult(text="said")


def fails(params: Any, context: Any) -> ToolResult:
    raise RuntimeError("a bug")


def test_every_line_of_a_turn_has_its_context(make_rig: Callable[..., Rig], logged: io.StringIO) -> None:
    """Of the product, of libraries beside a call of the model, of a tool that fails: all that is logged meanwhile."""
    tools = [FakeTool(name="speaks", act=speaks), FakeTool(name="fails", act=fails)]

    def replies(reply: ModelReply) -> Callable[..., ModelReply]:
        def step(*_: Any) -> ModelReply:
            logging.getLogger("an.sdk").debug("of a call of the model")
            return reply

        return step

    first = calls(("t1", "speaks", {}), ("t2", "fails", {}))
    rig = make_rig(ModelFault(FaultKind.NETWORK, "refused"), replies(first), replies(says("done")), extra=tools)
    task_id = rig.submit(allow=("speaks", "fails"))
    rig.drain()
    rig.retry_now(task_id)
    before = len(lines(logged))
    rig.drain()
    inside = lines(logged)[before:]
    fence, turn = inside[0]["fence"], inside[0]["turn"]
    assert rig.get(task_id).fence == fence + 1, "the second turn has a claim of its own"
    assert [tuple(line.get(name) for name in ("logger", *CONTEXT)) for line in inside] == [
        ("an.sdk", task_id, turn, fence, None),
        ("a.library", task_id, turn, fence, "speaks"),
        ("neuraphage.runtime.tool_step", task_id, turn, fence, "fails"),
        ("an.sdk", task_id, turn + 1, fence + 1, None),
    ]


def test_what_is_said_of_a_record_that_cannot_be_read_has_its_context(
    make_rig: Callable[..., Rig], logged: io.StringIO
) -> None:
    """Whoever repairs it finds the claim that met it."""
    rig = make_rig()
    task_id = rig.submit()
    rig.client.hset(rig.kit.keys.task(task_id), "spec", "{")
    rig.step()
    (line,) = [line for line in lines(logged) if line["level"] == "ERROR"]
    assert (line["task"], line["fence"]) == (task_id, int(rig.kit.field(task_id, "fence") or 0))


def test_a_block_ends_and_other_threads_have_their_own(logged: io.StringIO) -> None:
    """Nothing of one task is told of another."""
    log = logging.getLogger("x")
    with log_context(task="one"):
        add_to_log_context(fence=3)
        with log_context(tool="t"):
            log.info("inside")
            thread = threading.Thread(target=log.info, args=("another thread",))
            thread.start()
            thread.join()
        log.info("after the tool", extra={"turn": 5})
    log.info("outside")
    add_to_log_context(task="nowhere")
    log.info("still outside")
    assert [{name: line.get(name) for name in CONTEXT if name in line} for line in lines(logged)] == [
        {"task": "one", "fence": 3, "tool": "t"},
        {},
        {"task": "one", "fence": 3, "turn": 5},
        {},
        {},
    ]


def test_in_text_it_stands_before_the_message(logged: io.StringIO) -> None:
    """As name=value, in one order, with the numbers that JSON has."""
    configure_logging(redactor(), stream=logged)
    with log_context(task="one", turn=3, fence=3, tool="edit"):
        logging.getLogger("x").warning("said")
    assert logged.getvalue().rstrip().endswith("WARNING x task=one turn=3 fence=3 tool=edit said")
