"""What a task that is Running does now."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """What a Running task does now."""

    INITIALIZING = "Initializing"
    ASSEMBLING_CONTEXT = "AssemblingContext"
    LLM_REQUEST = "LlmRequest"
    TOOL_EXECUTION = "ToolExecution"
    PROCESSING = "Processing"
    BETWEEN_TURNS = "BetweenTurns"
    RETRY_WAIT = "RetryWait"
