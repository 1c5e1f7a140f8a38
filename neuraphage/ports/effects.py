"""Seams to the world outside the store: time, the model, tools and the spool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from neuraphage.decide.files_seen import SeenFile
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.tool import FileSight, Probe, ToolDeclaration, ToolResult

# --- time and identity ---------------------------------------------------------------------------------


class Clock(Protocol):
    """Local time. Server time comes from the store's scripts only."""

    def boottime_s(self) -> float:
        """Seconds that also pass while the machine sleeps (CLOCK_BOOTTIME); never set back."""
        ...

    def wall_ms(self) -> int:
        """Unix milliseconds, for display."""
        ...


class Interrupt(Protocol):
    """Asked by long effects whether they must stop early."""

    def check(self) -> None:
        """Return when the effect may go on.

        Raises:
            CancelRequested: a person cancelled the task.
            LeaseLost: this process no longer holds the task.
        """
        ...

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` (from another thread, at most once) when `check` would raise.

        Returns:
            A function that unsubscribes.
        """
        ...


# --- the model -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply while it streams; for viewers only.

    Args:
        kind: text, thinking or tool (name of a tool call that begins).
        text: the piece.
    """

    kind: str
    text: str


class ModelClient(Protocol):
    """Calls the model once. Never retries: the turn's timers do."""

    def call(self, request: ModelRequest, on_delta: Callable[[Delta], None], interrupt: Interrupt) -> ModelReply:
        """Stream one reply to its end.

        Raises:
            ModelFault: the call failed; `kind` says how, `usage` what the reply had told of when it broke off.
            CancelRequested, LeaseLost: the interrupt asked to stop; the connection is closed.
        """
        ...


# --- tools ---------------------------------------------------------------------------------------------


class SpoolState(StrEnum):
    """What the spool knows of one command."""

    ABSENT = "absent"
    """No entry: it was never started on this host."""
    SEALED = "sealed"
    """Known not to have run, and it never will under this effect id."""
    RUNNING = "running"
    DONE = "done"
    LOST = "lost"
    """It was started, its process is gone, and no exit status was written: the outcome is unknown."""


@dataclass(frozen=True, slots=True)
class SpoolStatus:
    """State of one spooled command.

    Args:
        state: see SpoolState.
        exit_code: DONE: exit status, or minus the signal number.
        reason: DONE: exited, timeout, cancelled, output_limit or lease_moved.
        output: DONE, and LOST where it is known: what it wrote (stdout and stderr as they came), shortened to the
            limit, head and tail kept.
        duration_s: DONE: how long it ran.
        left_behind: DONE: processes it had left running in the background; they were ended too.
        timeout_s: DONE: the limit it ran under; None when that is not known any more.
    """

    state: SpoolState
    exit_code: int | None = None
    reason: str | None = None
    output: str = ""
    duration_s: float | None = None
    left_behind: int = 0
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class SpoolCommand:
    """A command to run in a process of its own.

    Args:
        effect_id: names the entry; the same id never runs twice.
        argv: program and arguments (a shell command line is `["/bin/bash", "-c", line]`).
        cwd: working directory.
        timeout_s: the spool process ends it after this.
        env: whole environment of the command.
        task_id: for people who look at the folder.
    """

    effect_id: str
    argv: tuple[str, ...]
    cwd: str
    timeout_s: float
    env: Mapping[str, str]
    task_id: str = ""


class Spool(Protocol):
    """Commands that outlive the worker which started them."""

    @property
    def identity(self) -> str:
        """Names this set of entries, at random. What another one holds is unknown here: another host's, or that of
        a container that is gone."""
        ...

    def start(self, command: SpoolCommand) -> SpoolState:
        """Start it, unless an entry of this id exists already (exclusive).

        Returns:
            RUNNING when this call started it; else the state of the existing entry.

        Raises:
            SpoolError: the entry could not be made (disk full, no permission).
        """
        ...

    def look(self, effect_id: str, output_limit_chars: int) -> SpoolStatus:
        """Tell what is known of it, without changing anything."""
        ...

    def seal(self, effect_id: str) -> SpoolState:
        """Forbid a command that has not started from ever starting.

        Returns:
            SEALED when it had not started; else the state it was found in.
        """
        ...

    def wait(self, effect_id: str, output_limit_chars: int, interrupt: Interrupt) -> SpoolStatus:
        """Wait until it ends.

        Raises:
            CancelRequested: after the command and all its children were ended.
            LeaseLost: at once, leaving the command alone.
        """
        ...

    def cancel(self, effect_id: str) -> SpoolState:
        """End a running command and every process it left; wait until they are gone."""
        ...


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
    redact: Callable[[str], str] = str


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


class Presence(Protocol):
    """The named connection that shows this process to be alive, and hears nudges."""

    def wait(self, timeout_s: float) -> bool:
        """Keep the connection up; return whether a nudge came within the timeout.

        Raises:
            StoreUnavailable: the server is away; call again.
        """
        ...

    def close(self) -> None:
        """Close it; the process leaves."""
        ...


class Redaction(Protocol):
    """Takes secrets out of what is stored, logged or shown."""

    def text(self, text: str) -> str:
        """The text without secrets."""
        ...

    def json(self, value: Any) -> Any:
        """A plain JSON value without secrets."""
        ...

    def settled_chars(self, text: str) -> int:
        """How many characters of a text that still grows can be redacted apart from what follows them."""
        ...
