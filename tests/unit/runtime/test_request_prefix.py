"""What every request begins with, byte for byte: the provider's prompt cache knows a conversation by it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from neuraphage.decide.assembly import Assembly
from neuraphage.decide.request_head import system_blocks, tool_definitions
from neuraphage.llm.request import request_body
from neuraphage.model.message import ModelRequest
from neuraphage.model.task import TaskSpec
from neuraphage.tools.registry import default_toolbox
from source_tree import ROOT

RECORDED = ROOT / "tests" / "fixtures" / "request_prefix.json"
HOW = (
    "An upgrade to this code has the provider read the conversation of each running task anew, at full price. Within a"
    " minor release take the change back; for the next minor one remove {path} and run this test: it records it anew."
)


def first_request() -> dict[str, Any]:
    """The first request of a task, with the tools of the release."""
    spec = TaskSpec(
        task_id="task-00000000-0000-7000-8000-000000000001",
        name="Repair it",
        prompt="Repair the shop.",
        model="claude-sonnet-5-5",
        working_dir="/srv/shop",
        created_at_ms=1_796_068_524_602,
    )
    entries = [{"role": "user", "content": [{"type": "text", "text": spec.prompt}], "turn": 0}]
    request = ModelRequest(
        request_id="req-1",
        model=spec.model,
        system=system_blocks(spec),
        tools=tool_definitions(default_toolbox(environ={}).declarations()),
        messages=Assembly().request_messages(entries),
        max_tokens=spec.max_tokens,
    )
    return request_body(request)


def test_the_beginning_of_requests_is_that_of_the_release() -> None:
    """Tools, system text and the first message, with their order and the places of the cache's marks."""
    now = orjson.dumps(first_request(), option=orjson.OPT_INDENT_2) + b"\n"
    if not RECORDED.exists():
        RECORDED.write_bytes(now)
        pytest.fail(f"recorded {RECORDED}: look at it, and run this again")
    assert now == RECORDED.read_bytes(), HOW.format(path=RECORDED.relative_to(ROOT))
