"""Tool calls and their results as values."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from neuraphage.model.attachment import Attachment
from neuraphage.model.base import Frozen
from neuraphage.model.effect import EffectClass
from neuraphage.model.sandbox import RefusedHost
from neuraphage.model.tool_traits import ToolTraits


class ToolCall(Frozen):
    """One tool_use block of the model's reply.

    Args:
        tool_use_id: the API's id of the block.
        name: tool name.
        params: the block's input.
    """

    tool_use_id: str
    name: str
    params: dict[str, Any]


class SightKind(StrEnum):
    """How a call came to know a file's content."""

    READ = "read"
    """It showed lines of it."""
    WRITTEN = "written"
    """It wrote all of it."""
    EDITED = "edited"
    """It changed a part and showed nothing more of it."""


class FileSight(Frozen):
    """The state of one file that a call has seen or made. Stored with the call's result.

    Args:
        path: the file, resolved and without secrets.
        kind: how the call came to know it.
        sha256: of all its bytes; None when nothing was there.
        first_line: read: the first line that was shown, from 1 on.
        last_line: read: the last one, below first_line when none was shown whole; None when the file ended with it.
    """

    path: str
    kind: SightKind
    sha256: str | None
    first_line: int = 1
    last_line: int | None = None


class ToolResult(Frozen):
    """What a tool call came to.

    Args:
        text: what the model is shown; at most the tool's output limit.
        is_error: whether it tells of a failure.
        unknown_outcome: the effect may or may not have happened (an opaque tool that was interrupted).
        file: the file that it read or wrote, so that a later call can tell whether it has changed since.
        refused: hosts that it was refused.
        media: images and documents that the model is shown with the text.
        output_bytes: what a command put out, where that is more than the text holds.
    """

    text: str
    is_error: bool = False
    unknown_outcome: bool = False
    file: FileSight | None = None
    refused: tuple[RefusedHost, ...] = ()
    media: tuple[Attachment, ...] = ()
    output_bytes: int = 0


class ProbeVerdict(StrEnum):
    """What a look at the world says of an interrupted, checkable effect."""

    HAPPENED = "happened"
    NOT_HAPPENED = "not_happened"
    UNKNOWN = "unknown"


class Probe(Frozen):
    """Verdict of a probe, with the result to record when the effect had happened."""

    verdict: ProbeVerdict
    result: ToolResult | None = None


class ControlKind(StrEnum):
    """Tools that the turn itself carries out."""

    ASK_USER = "ask_user"
    COMPLETE_TASK = "complete_task"
    FAIL_TASK = "fail_task"
    SPAWN_TASK = "spawn_task"
    WAIT_FOR_TASKS = "wait_for_tasks"


class ToolDeclaration(Frozen):
    """What a tool promises; decisions need nothing else of it.

    Args:
        name: as the model calls it.
        description: as the model reads it.
        input_schema: JSON schema of its parameters.
        effect_class: what a repeat does.
        side_effecting: whether a person is asked first unless the task allows it.
        timeout_s: longest run that the tool promises. The turn does not enforce it, since a thread cannot be killed:
            run_command, glob and grep end their own processes by it. Any other tool must keep to it by itself; the
            setting `effect_max_s` is all that bounds one that does not, by the end of its whole process.
        output_limit_chars: longest text shown to the model; head and tail are kept.
        control: set for tools that the turn carries out itself.
        detached: whether a call is work that outlives the worker and is found again by its effect id
            (`ports.DetachedTool`). It is opaque: what came of it is asked for, never guessed by another way.
        version: of what a call means. A call that was begun under another version is never begun again: its outcome
            counts as unknown.
        traits: what its parameters and results mean to policy and to surfaces.
        sandbox: what confines its command lines, in words; empty where nothing does. An approval holds for these.
        confined: whether they run in a sandbox that reaches no network.
        has_way_out: whether that sandbox has a way to hosts that rules allow, if they do.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    effect_class: EffectClass
    side_effecting: bool
    timeout_s: float
    output_limit_chars: int = 30_000
    control: ControlKind | None = None
    detached: bool = False
    version: str = "1"
    traits: ToolTraits = ToolTraits()
    sandbox: str = ""
    confined: bool = False
    has_way_out: bool = False

    def command_of(self, params: Mapping[str, Any]) -> str | None:
        """The command line of a call; None for a call without one."""
        found = None if self.traits.command is None else params.get(self.traits.command)
        return found if isinstance(found, str) else None
