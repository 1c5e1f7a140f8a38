"""What a request holds before its messages: the system text and the tools. It stays the same for a whole task. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from neuraphage.decide.context_size import tokens_of
from neuraphage.decide.hashing import sha256_hex
from neuraphage.model.message import Block
from neuraphage.model.task import TaskSpec
from neuraphage.model.tool import ToolDeclaration

SYSTEM_TEXT = (
    "You are an agent that works on a task with the tools given. Paths are relative to the working directory. "
    "Read before you write. When the task is done, say so in a short summary and stop calling tools."
)
HEADS_KEPT = 64
"""Of so many tasks a process keeps what it has made of their specs; a system text may be long."""


def system_blocks(spec: TaskSpec) -> list[Block]:
    """The system prompt of a task: what tasks have in common first, then what this one works in.

    It is made of what never changes of a task, so every turn, recovery and worker has the same bytes.
    """
    return [dict(block) for block in system_head(spec).blocks]


@dataclass(frozen=True, slots=True)
class SystemHead:
    """The system prompt of a task, measured.

    Args:
        blocks: see `system_blocks`; not to be changed.
        tokens: estimate of them.
        digest: short hash of them.
    """

    blocks: tuple[Block, ...]
    tokens: int
    digest: str


def system_head(spec: TaskSpec) -> SystemHead:
    """The system prompt of a task; every turn asks, so the latest ones are kept."""
    return _head(spec.system, environment(spec))


@lru_cache(maxsize=HEADS_KEPT)
def _head(system: str, where: str) -> SystemHead:
    shared = SYSTEM_TEXT + (f"\n\n{system}" if system else "")
    blocks: list[Block] = [{"type": "text", "text": shared}, {"type": "text", "text": where}]
    return SystemHead(tuple(blocks), tokens_of(blocks), short_hash(blocks))


def environment(spec: TaskSpec) -> str:
    """Where and for what a task works, a line each; as it was when the task was made."""
    tags = tuple(spec.tags)
    return _environment(spec.name, spec.task_id, spec.parent_id, tags, spec.working_dir, spec.created_at_ms)


@lru_cache(maxsize=HEADS_KEPT)
def _environment(
    name: str, task_id: str, parent_id: str | None, tags: tuple[str, ...], working_dir: str | None, created_at_ms: int
) -> str:
    lines = [f"Task: {name} ({task_id})"]
    if parent_id is not None:
        lines.append(f"Parent task: {parent_id}")
    if tags:
        lines.append(f"Labels: {', '.join(tags)}")
    lines.append(f"Working directory: {working_dir or 'none'}")
    if created_at_ms:
        made = datetime.fromtimestamp(created_at_ms / 1_000, UTC)
        lines.append(f"Begun on: {made:%A, %Y-%m-%d} (UTC)")
    return "\n".join(lines)


def tool_definitions(declarations: Iterable[ToolDeclaration]) -> list[dict[str, Any]]:
    """The tools as the API is told of them, in the order in which they are given."""
    return [{"name": d.name, "description": d.description, "input_schema": d.input_schema} for d in declarations]


def head_of(model: str, system_hash: str, tools_hash: str) -> str:
    """A short hash each of model, system text and tools: what a prefix in the prompt cache begins with."""
    return f"{short_hash(model)}.{system_hash}.{tools_hash}"


def short_hash(value: Any) -> str:
    """Enough to tell that a value has changed."""
    return sha256_hex(value)[:6]
