"""What a request holds before its messages: the system text and the tools. It stays the same for a whole task. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from neuraphage.decide.hashing import sha256_hex
from neuraphage.model.message import Block
from neuraphage.model.task import TaskSpec
from neuraphage.model.tool import ToolDeclaration

SYSTEM_TEXT = (
    "You are an agent that works on a task with the tools given. Paths are relative to the working directory. "
    "Read before you write. When the task is done, say so in a short summary and stop calling tools."
)


def system_blocks(spec: TaskSpec) -> list[Block]:
    """The system prompt of a task: what tasks have in common first, then what this one works in.

    It is made of what never changes of a task, so every turn, recovery and worker has the same bytes.
    """
    shared = SYSTEM_TEXT + (f"\n\n{spec.system}" if spec.system else "")
    return [{"type": "text", "text": shared}, {"type": "text", "text": environment(spec)}]


def environment(spec: TaskSpec) -> str:
    """Where and for what a task works, a line each; as it was when the task was made."""
    lines = [f"Task: {spec.name} ({spec.task_id})"]
    if spec.parent_id is not None:
        lines.append(f"Parent task: {spec.parent_id}")
    if spec.tags:
        lines.append(f"Labels: {', '.join(spec.tags)}")
    lines.append(f"Working directory: {spec.working_dir or 'none'}")
    if spec.created_at_ms:
        made = datetime.fromtimestamp(spec.created_at_ms / 1_000, UTC)
        lines.append(f"Begun on: {made:%A, %Y-%m-%d} (UTC)")
    return "\n".join(lines)


def tool_definitions(declarations: Iterable[ToolDeclaration]) -> list[dict[str, Any]]:
    """The tools as the API is told of them, in the order in which they are given."""
    return [{"name": d.name, "description": d.description, "input_schema": d.input_schema} for d in declarations]


def head_of(model: str, system: Any, tools_hash: str) -> str:
    """A short hash each of model, system text and tools: what a prefix in the prompt cache begins with."""
    return f"{short_hash(model)}.{short_hash(system)}.{tools_hash}"


def short_hash(value: Any) -> str:
    """Enough to tell that a value has changed."""
    return sha256_hex(value)[:6]
