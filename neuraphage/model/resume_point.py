"""Where a paused task goes on."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.model.base import Frozen


class ResumePointKind(StrEnum):
    """Where a paused task goes on."""

    CONTEXT_ASSEMBLY = "ContextAssembly"
    LLM_CALL = "LlmCall"
    TOOL_EXECUTION = "ToolExecution"
    WAITING_FOR_USER = "WaitingForUser"


class ResumePoint(Frozen):
    """Where a paused task goes on, with the tool calls still to do."""

    kind: ResumePointKind
    remaining_tools: tuple[str, ...] = ()
