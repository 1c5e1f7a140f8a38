"""The seam to tools: what a turn asks of them, and what they are told of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from neuraphage.decide.files_seen import SeenFile
from neuraphage.model.attachment import Attachment
from neuraphage.model.sandbox import NO_HOSTS, HostReach
from neuraphage.model.tool import FileSight, Probe, ToolDeclaration, ToolResult
from neuraphage.ports.detached import Spool, SpoolStatus
from neuraphage.ports.effects import Interrupt


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know of the call.

    Args:
        task_id: the task.
        effect_id: hash of task, tool_use id and parameters: an idempotency key for the outside world.
        working_dir: absolute directory that paths resolve in; None when the task has none.
        spool: for commands.
        interrupt: asked by long work.
        files_seen: files that the conversation has read or written so far, by path (resolved and redacted).
        approved_file: the file of this call as it was when a person was asked about the call; None if nobody was.
        output_limit_chars: limit of the result text.
        outside_sandbox: whether a rule lets this call's command line run outside of the sandbox.
        reach: what rules say of hosts that command lines reach.
        result_of: the stored result of an earlier call, by its tool_use id; None for none.
        media_of: images and documents of an earlier call, by its tool_use_id, or the one of a digest (`sha256:...`).
        redact: takes secrets out of a text. The turn redacts every result; a tool that shortens its own text calls
            this before, since nothing recognizes half of a secret.
    """

    task_id: str
    effect_id: str
    working_dir: str | None
    spool: Spool
    interrupt: Interrupt
    files_seen: Mapping[str, SeenFile] = field(default_factory=dict)
    approved_file: FileSight | None = None
    output_limit_chars: int = 30_000
    outside_sandbox: bool = False
    result_of: Callable[[str], str | None] = lambda _: None
    media_of: Callable[[str], tuple[Attachment, ...]] = lambda _: ()
    redact: Callable[[str], str] = str
    reach: HostReach = NO_HOSTS


class Tool(Protocol):
    """One tool. `declaration` is all that decisions look at."""

    @property
    def declaration(self) -> ToolDeclaration:
        """Name, schema, effect class, limits."""
        ...

    def check(self, params: Mapping[str, Any]) -> str | None:
        """Validate parameters.

        Returns:
            None when they fit, else one sentence for the model.
        """
        ...

    def prepare(self, params: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Read (never change) what a later probe needs to tell whether the effect happened."""
        ...

    def run(self, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Carry the call out. Failures are results with is_error, not exceptions.

        Raises:
            CancelRequested, LeaseLost: from the interrupt.
        """
        ...

    def probe(self, params: Mapping[str, Any], evidence: Mapping[str, Any], context: ToolContext) -> Probe:
        """Checkable tools: look whether an interrupted call happened. Others answer UNKNOWN."""
        ...


class ToolBox(Protocol):
    """The tools of this process."""

    def get(self, name: str) -> Tool | None:
        """The tool of this name, or None."""
        ...

    def declarations(self) -> Sequence[ToolDeclaration]:
        """All tools, in a fixed order."""
        ...

    def why_missing(self, name: str) -> str:
        """What the model is told of a tool that is not here: which there are, and which could not be loaded."""
        ...


# --- what a tool may add -------------------------------------------------------------------------------


@runtime_checkable
class ForeseesRefusal(Protocol):
    """A tool that may add this: it tells before a person is asked that a call can only fail as things stand."""

    def refusal(self, params: Mapping[str, Any], context: ToolContext) -> str | None:
        """Look, and change nothing.

        Returns:
            What the call's result would say, or None when it may succeed.
        """
        ...


@runtime_checkable
class Accompanies(Protocol):
    """A detached tool that may add this: its work needs something of whichever process waits for it."""

    def accompanied(self, context: ToolContext) -> AbstractContextManager[None]:
        """While in it, the work of this call has what it needs; it goes on without, if this process dies.

        Raises:
            SpoolError: it cannot be given.
        """
        ...


@runtime_checkable
class DetachedTool(Protocol):
    """A tool whose calls run as detached work under their effect id; its declaration says so."""

    def detached_result(self, params: Mapping[str, Any], status: SpoolStatus, context: ToolContext) -> ToolResult:
        """The result of a call by the last word on its work, also of work that another process had started.

        Args:
            params: of the call.
            status: what is known of the work; RUNNING never.
            context: of the call.

        Returns:
            The result; with `unknown_outcome` where the status tells of none.
        """
        ...
