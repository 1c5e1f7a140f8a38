"""The real worker app with a fake model and one fake tool: `celery -A tests.benchmarks.runtime_app worker`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from celery import signals

from neuraphage import model_wiring, wiring
from neuraphage.model.effect import EffectClass
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.tool import Probe, ProbeVerdict, ToolDeclaration, ToolResult
from neuraphage.model.usage import Usage
from neuraphage.ports import Delta, Interrupt, ToolContext
from neuraphage.tools.control_tools import complete_task
from neuraphage.tools.registry import StaticToolBox
from tests.benchmarks.workload import TOOL, mark_ready, model_text, run_tool

USAGE = Usage(input_tokens=1_000, output_tokens=500)


class FakeModel:
    """Answers at once; the prompt says for how many turns."""

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        """See ports.ModelClient."""
        _, task, turns, wait_ms = request.messages[0]["content"][0]["text"].split()
        turn = len(request.messages) // 2
        call = {"task": task, "turn": turn}
        content: list[dict[str, Any]] = [
            {"type": "text", "text": model_text(task, turn, float(wait_ms))},
            {"type": "tool_use", "id": f"c{turn}", "name": TOOL, "input": call},
        ]
        if turn + 1 >= int(turns):
            end = {"summary": "Done."}
            content.append({"type": "tool_use", "id": f"e{turn}", "name": "complete_task", "input": end})
        return ModelReply(
            content=content, stop_reason="tool_use", usage=USAGE, model="claude-sonnet-5-5", message_id=f"m{turn}"
        )


class NoteTool:
    """The fake tool. Keyed: writing the same file again changes nothing."""

    declaration = ToolDeclaration(
        name=TOOL,
        description="Writes a note.",
        input_schema={"type": "object"},
        effect_class=EffectClass.KEYED,
        side_effecting=True,
        timeout_s=10.0,
    )

    def check(self, params: Mapping[str, Any]) -> str | None:
        """See ports.Tool."""
        return None

    def prepare(self, params: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """See ports.Tool."""
        return {}

    def run(self, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """See ports.Tool."""
        return ToolResult(text=run_tool(params["task"], params["turn"]))

    def probe(self, params: Mapping[str, Any], evidence: Mapping[str, Any], context: ToolContext) -> Probe:
        """See ports.Tool."""
        return Probe(verdict=ProbeVerdict.UNKNOWN)


def _model(*_: Any) -> FakeModel:
    return FakeModel()


def _toolbox(*_: Any) -> StaticToolBox:
    return StaticToolBox([NoteTool(), complete_task()])


signals.worker_ready.connect(mark_ready)
vars(wiring).update(build_toolbox=_toolbox)
if not os.environ.get("BENCH_PROVIDER"):  # else the real client calls a provider (see relayed.py)
    vars(model_wiring).update(build_model=_model)
    vars(wiring).update(build_model=_model, build_relay=lambda _: None, key_pool=lambda _: "none")

from workers.app import app  # noqa: E402 - the app is built from the parts put in above

__all__ = ["app"]
