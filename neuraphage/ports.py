"""Every seam as a Protocol. `runtime` sees the rooms only through these; `wiring` plugs the real parts in.

Tests plug recorders, crash injectors and fakes into the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from neuraphage.model.effect import JournalEntry, Marker
from neuraphage.model.message import Block, Entry, ModelReply, ModelRequest
from neuraphage.model.prompt import Event, InboxItem, Prompt
from neuraphage.model.recovery import RecoveryReport
from neuraphage.model.task import Status, TaskRecord, TaskSpec
from neuraphage.model.tool import Probe, ToolDeclaration, ToolResult

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
            ModelFault: the call failed; `kind` says how.
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
        reason: DONE: exited, timeout, cancelled or output_limit.
        output: DONE: what it wrote (stdout and stderr as they came), shortened to the limit, head and tail kept.
        duration_s: DONE: how long it ran.
    """

    state: SpoolState
    exit_code: int | None = None
    reason: str | None = None
    output: str = ""
    duration_s: float | None = None


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
        files_read: paths (absolute) that the conversation has read or written so far.
        output_limit_chars: limit of the result text.
    """

    task_id: str
    effect_id: str
    working_dir: str | None
    spool: Spool
    interrupt: Interrupt
    files_read: frozenset[str] = frozenset()
    output_limit_chars: int = 30_000


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


# --- the store -----------------------------------------------------------------------------------------


class ClaimVerdict(StrEnum):
    """Answers of claim."""

    GRANTED = "GRANTED"
    STALE = "STALE"
    """The message is of an older step, or there is no such task."""
    LEASED = "LEASED"
    """Another process holds it."""
    NOT_RUNNABLE = "NOT_RUNNABLE"
    """It waits, is paused, cancelled or over."""


class CommitVerdict(StrEnum):
    """Answers of commit, suspend and finish."""

    COMMITTED = "COMMITTED"
    STALE = "STALE"
    """Another lease has taken over (or the task is gone): nothing was written."""
    LOST = "LOST"
    """An earlier write of this lease is missing (the server lost its tail): nothing was written."""
    CANCELLED = "CANCELLED"
    """The task is over: nothing was written by commit; suspend and finish ended it as Cancelled."""


class RecoverVerdict(StrEnum):
    """Answers of recover."""

    RECOVERED = "RECOVERED"
    SUSPECT = "SUSPECT"
    """First visit of an expired lease: marked, not taken."""
    PAUSED = "PAUSED"
    """Taken, and left to a person by policy or by a pause that was asked for."""
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    STALE = "STALE"
    """Nothing to recover: it was renewed, finished or recovered meanwhile."""


class SignalVerdict(StrEnum):
    """Answers of signal."""

    ACCEPTED = "ACCEPTED"
    REPEATED = "REPEATED"
    """The same key was accepted before: nothing changed."""
    NOT_FOUND = "NOT_FOUND"
    ILLEGAL = "ILLEGAL"
    """The lifecycle table has no row for it from the present status."""
    PROMPT_NOT_OPEN = "PROMPT_NOT_OPEN"
    FULL = "FULL"
    """The inbox is at its limit."""


class SignalKind(StrEnum):
    """What people send to a task."""

    INPUT = "input"
    ANSWER = "answer"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RETRY = "retry"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal.

    Args:
        kind: which.
        key: idempotency key; a repeat of the same key is a no-op.
        text: input, answer: the words; cancel: the reason.
        prompt_id: answer: the prompt.
        by: user or timeout.
    """

    kind: SignalKind
    key: str
    text: str = ""
    prompt_id: str | None = None
    by: str = "user"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one process to advance one task.

    Args:
        task_id, fence, claim_id: what every write must match.
        token: number of the last write of this claim (the token chain).
    """

    task_id: str
    fence: int
    claim_id: str
    token: int = 0


@dataclass(frozen=True, slots=True)
class Claimed:
    """Everything a turn needs, read in one round trip.

    Args:
        verdict: GRANTED, or why not; the other fields are set only with GRANTED.
        lease: the new lease.
        record: the task.
        journal: entries of the turn, by key.
        inbox: unconsumed input and answers, oldest first, as (stored bytes, item).
        entries: the conversation.
        sent_at_boottime_s: local send time, the start of the worker's own deadline.
        now_ms: server time of the claim.
    """

    verdict: ClaimVerdict
    lease: Lease | None = None
    record: TaskRecord | None = None
    journal: dict[str, JournalEntry] = field(default_factory=dict)
    inbox: tuple[tuple[bytes, InboxItem], ...] = ()
    entries: tuple[dict[str, Any], ...] = ()
    sent_at_boottime_s: float = 0.0
    now_ms: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """What one commit writes, together or not at all.

    Args:
        entries: appended to the conversation.
        journal: entries set, by their key.
        marker: new marker; None leaves it.
        add: counter name -> what to add (see model.usage.Counters; recoveries is reset by outcomes).
        outcome: whether this commits the outcome of an effect (it clears the poison count).
        consumed: stored bytes of inbox items used up.
        prompts_opened, prompts_closed: prompts, prompt ids.
        grants: tool name -> granted or denied, remembered.
        events: appended to the history.
    """

    entries: tuple[Entry, ...] = ()
    journal: tuple[JournalEntry, ...] = ()
    marker: Marker | None = None
    add: Mapping[str, int] = field(default_factory=dict)
    outcome: bool = False
    consumed: tuple[bytes, ...] = ()
    prompts_opened: tuple[Prompt, ...] = ()
    prompts_closed: tuple[str, ...] = ()
    grants: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Event, ...] = ()


class SuspendTo(StrEnum):
    """Why a lease is dropped in mid-turn; journal and iteration stay."""

    WAIT = "wait"
    """Open prompts: WaitingForUser, or the outbox if an answer is there already."""
    TIMER = "timer"
    PAUSE = "pause"
    """Paused, or the outbox if the flag is gone."""
    SHUTDOWN = "shutdown"
    """The outbox at once; counts no crash."""
    BLOCKED = "blocked"
    """Waits for a resource, with a fallback poll."""
    POISONED = "poisoned"
    """Failed: stored state breaks its rules; nothing was changed in the conversation."""


class FinishTo(StrEnum):
    """How a turn ends."""

    NEXT = "next"
    """Iteration + 1 and the outbox."""
    WAIT = "wait"
    """Iteration + 1 and WaitingForUser (conversational)."""
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Settled:
    """Answer of suspend and finish.

    Args:
        verdict: COMMITTED, STALE, LOST or CANCELLED.
        status: where the task stands now.
        place: outbox, timers, waits, or empty when over.
        seq, iteration: for the next message, when place is outbox.
    """

    verdict: CommitVerdict
    status: Status | None = None
    place: str = ""
    seq: int = 0
    iteration: int = 0


@dataclass(frozen=True, slots=True)
class Committed:
    """Answer of commit.

    Args:
        verdict: COMMITTED, STALE, LOST or CANCELLED.
        pause, cancel: flags people have set.
        sent_at_boottime_s: local send time; the lease runs on from there.
    """

    verdict: CommitVerdict
    pause: bool = False
    cancel: bool = False
    sent_at_boottime_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Renewal:
    """One task's answer of renew.

    Args:
        held: whether the lease is still this one's.
        cancel, pause: flags people have set.
    """

    held: bool
    cancel: bool = False
    pause: bool = False


class TurnStore(Protocol):
    """What a turn and its heartbeat write. Every method is one atomic script, safe to repeat."""

    def claim(self, task_id: str, seq: int, process_id: str, claim_id: str) -> Claimed:
        """Take the lease of a task that is in the outbox at this seq."""
        ...

    def commit(self, lease: Lease, changes: Changes) -> Committed:
        """Write changes under the lease and renew it. `lease.token` is the last token; this one is token + 1."""
        ...

    def suspend(
        self,
        lease: Lease,
        changes: Changes,
        to: SuspendTo,
        *,
        due_ms: int | None = None,
        reason: str = "",
        deadline_prompts: Mapping[str, int] | None = None,
    ) -> Settled:
        """Write changes and drop the lease in mid-turn. `due_ms` is server time (TIMER) or a delay base."""
        ...

    def finish(
        self,
        lease: Lease,
        changes: Changes,
        to: FinishTo,
        *,
        summary: str = "",
        error: str = "",
        recoverable: bool = False,
    ) -> Settled:
        """Write changes and end the turn."""
        ...

    def renew(self, process_id: str, leases: Sequence[Lease]) -> tuple[float, list[Renewal]]:
        """Renew all leases of a process in one round trip; the first value is the local send time."""
        ...

    def publish_live(self, task_id: str, deltas: Iterable[Delta]) -> None:
        """Show pieces of a streaming reply to viewers, if there are any. Failure is ignored."""
        ...


class Dispatcher(Protocol):
    """Sends wake-up hints to the broker."""

    def publish_turn(self, task_id: str, iteration: int, seq: int) -> bool:
        """Send the message of the next turn.

        Returns:
            False when the broker refused; the sweep publishes later, so that is no error.
        """
        ...

    def queue_length(self) -> int | None:
        """Messages waiting for workers; None when the broker does not answer."""
        ...


class SweepStore(Protocol):
    """What the sweep and the watcher use."""

    def create(self, spec: TaskSpec, key: str) -> tuple[bool, TaskRecord]:
        """Store a new task. A repeat of the same key returns the first one and False."""
        ...

    def last_report(self) -> RecoveryReport | None:
        """The newest report that is not empty, or None."""
        ...


@dataclass(frozen=True, slots=True)
class ConversationView:
    """The conversation as the model is to see it.

    Args:
        messages: API messages, roles alternating.
        length: stored entries.
    """

    messages: list[dict[str, Any]]
    length: int


BlockList = list[Block]
