"""pydantic/pydantic-ai#7157, #7164: what a tool returns may be larger than anything that is stored or sent."""

from __future__ import annotations

from collections.abc import Callable

from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from turnkit import FakeTool, Killed, Rig, calls, says

MEGABYTES_50 = "a line of 50 characters, of which there are many.\n" * 1_000_000


def test_fifty_megabytes_are_shortened_and_the_task_goes_on(make_rig: Callable[..., Rig]) -> None:
    """Stored once, within the tool's limit and with a note of what is left out; after a death, too. Nothing is tried
    again for ever.
    """
    deaths = iter([True, False])

    def act(params: object, context: object) -> ToolResult:
        if next(deaths):
            raise Killed
        return ToolResult(text=MEGABYTES_50)

    tool = FakeTool(act=act)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id).drain()
    record = rig.get(task_id)
    assert (record.status, record.counters.tool_runs, len(tool.runs)) == (Status.COMPLETED, 1, 2)
    (result,) = rig.entries(task_id)[2]["content"]
    assert len(result["content"]) <= tool.declaration.output_limit_chars
    assert " characters left out ...]" in result["content"]
