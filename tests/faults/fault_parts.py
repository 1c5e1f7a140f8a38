"""Parts of a world that tell what happened: a queue in memory, a tool that stamps, a model with a hook."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from neuraphage.llm.client import AnthropicClient
from neuraphage.model.effect import EffectClass
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.tool import Probe, ProbeVerdict, ToolDeclaration, ToolResult
from neuraphage.ports import Delta, Interrupt, ToolContext


class QueueDispatcher:
    """ports.Dispatcher by a queue in memory."""

    def __init__(self) -> None:
        self.messages: queue.Queue[tuple[str, int, int]] = queue.Queue()

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        self.messages.put((task_id, iteration, seq))
        return True

    def has_waiting(self) -> bool:
        return not self.messages.empty()

    def queue_length(self) -> int:
        return self.messages.qsize()


class StampTool:
    """An opaque tool that nothing remembers: each run adds a line `<effect id> <milliseconds>` to a file.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.declaration = ToolDeclaration(
            name="stamp",
            description="Stamps.",
            input_schema={"type": "object"},
            effect_class=EffectClass.OPAQUE,
            side_effecting=True,
            timeout_s=30.0,
        )

    def check(self, params: Mapping[str, Any]) -> str | None:
        return None

    def prepare(self, params: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        return {}

    def run(self, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{context.effect_id} {time.time_ns() // 1_000_000}\n")
        return ToolResult(text="stamped")

    def probe(self, params: Mapping[str, Any], evidence: Mapping[str, Any], context: ToolContext) -> Probe:
        return Probe(verdict=ProbeVerdict.UNKNOWN)

    def runs(self) -> dict[str, list[int]]:
        """When each effect ran, by effect id."""
        found: dict[str, list[int]] = {}
        lines = self.path.read_text(encoding="utf-8").split("\n") if self.path.exists() else []
        for line in filter(None, lines):
            effect, at_ms = line.split()
            found.setdefault(effect, []).append(int(at_ms))
        return found


class HookedModel:
    """The real client of the scripted API, with a hook between the reply and whoever waits for it."""

    def __init__(self, target: AnthropicClient) -> None:
        self.target = target
        self.after_reply: Callable[[ModelRequest], None] = lambda request: None

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        reply = self.target.call(request, on_delta, interrupt)
        self.after_reply(request)
        return reply
