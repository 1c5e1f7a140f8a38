"""Messages that processes share, and a tool that writes down when it is at a file, outside of the state server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ToolResult
from neuraphage.model.tool_traits import ToolTraits
from turnkit import FakeTool

MESSAGES = "messages"
AT_WORK_S = 0.01


class SharedMessages:
    """Implements ports.Dispatcher by a list that all processes share; what a killed taker had taken is lost."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        self._client.rpush(MESSAGES, f"{task_id} {seq} {iteration}")
        return bool(after) or True

    def has_waiting(self) -> bool:
        return bool(self._client.llen(MESSAGES))

    def queue_length(self) -> int:
        return int(self._client.llen(MESSAGES))


def touching(log: Path) -> FakeTool:
    """A tool that writes down when it is at a file; a repeat of a killed one does so again."""

    def act(params: Any, context: Any) -> ToolResult:
        with log.open("ab", buffering=0) as file:
            file.write(f"{params['path']} {context.task_id} begins\n".encode())
            time.sleep(AT_WORK_S)
            file.write(f"{params['path']} {context.task_id} ends\n".encode())
        return ToolResult(text="touched")

    return FakeTool("touch", EffectClass.KEYED, act=act, traits=ToolTraits(writes=("path",)))


def overlaps(lines: list[str]) -> list[str]:
    """Where a task began with a file that another one had begun with and not ended."""
    at, found = dict[str, str](), []
    for line in lines:
        path, task_id, what = line.split()
        if at.get(path, task_id) != task_id:
            found.append(f"{task_id} at {path} beside {at[path]}")
        if what == "ends":
            at.pop(path, None)
        else:
            at[path] = task_id
    return found
