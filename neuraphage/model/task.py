"""A task: what it was asked to do, where it stands, and its typed status detail."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from neuraphage.model.anomaly import Anomaly
from neuraphage.model.base import SCHEMA_VERSION, Frozen
from neuraphage.model.dependency import Awaited, Dependency, as_dependency
from neuraphage.model.effect import Marker
from neuraphage.model.limits import Limits
from neuraphage.model.lock import TaskLocks
from neuraphage.model.model_choice import MAX_FALLBACKS, ModelChoice
from neuraphage.model.money import MAX_LABELS, LabelName, LabelValue, Shortage
from neuraphage.model.phase import Phase
from neuraphage.model.prompt import Prompt
from neuraphage.model.resume_point import ResumePoint
from neuraphage.model.subtask import Child, ChildOutcome, OnParentEnd
from neuraphage.model.usage import Counters


class Status(StrEnum):
    """Where a task stands. Every move between them is a row of `decide/lifecycle.py`."""

    QUEUED = "Queued"
    """Waiting to be claimed by a worker."""
    RUNNING = "Running"
    """Being advanced turn by turn (also between two turns, and while a retry timer runs)."""
    WAITING_FOR_USER = "WaitingForUser"
    """Asked a person something; holds no process."""
    BLOCKED = "Blocked"
    """Waits for a lock or a child; holds no process."""
    PAUSED = "Paused"
    """Stopped by a person or by recovery policy until resumed; never expires."""
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


NAME_MAX_CHARS = 200
TEXT_MAX_CHARS = 1_000_000
"""Longest prompt, and longest system text."""
TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})


class StartedReason(StrEnum):
    """Why the present stretch of work began."""

    USER_REQUEST = "user_request"
    RESUMED = "resumed"
    RECOVERED = "recovered"
    RETRIED = "retried"
    RESET = "reset"
    USER_INPUT = "user_input"
    UNBLOCKED = "unblocked"


class QueuedDetail(Frozen):
    """Detail of Queued."""

    status: Literal[Status.QUEUED] = Status.QUEUED
    queued_at_ms: int
    reason: StartedReason = StartedReason.USER_REQUEST


class RunningDetail(Frozen):
    """Detail of Running."""

    status: Literal[Status.RUNNING] = Status.RUNNING
    phase: Phase
    started_at_ms: int
    iteration: int


class WaitingForUserDetail(Frozen):
    """Detail of WaitingForUser."""

    status: Literal[Status.WAITING_FOR_USER] = Status.WAITING_FOR_USER
    prompts: tuple[Prompt, ...]
    waiting_since_ms: int


class BlockedDetail(Frozen):
    """Detail of Blocked."""

    status: Literal[Status.BLOCKED] = Status.BLOCKED
    resource: str
    waiting_since_ms: int
    holder_task: str | None = None


class PausedDetail(Frozen):
    """Detail of Paused; `reason` is user, recovery, money (`shortage` has the pool) or anomaly (what was seen)."""

    status: Literal[Status.PAUSED] = Status.PAUSED
    paused_at_ms: int
    resume_point: ResumePoint
    reason: str = "user"
    shortage: Shortage | None = None
    anomaly: Anomaly | None = None


class CompletedDetail(Frozen):
    """Detail of Completed."""

    status: Literal[Status.COMPLETED] = Status.COMPLETED
    summary: str
    completed_at_ms: int
    iterations: int
    total_cost_microusd: int


class FailedDetail(Frozen):
    """Detail of Failed; `recoverable` says whether retry is offered."""

    status: Literal[Status.FAILED] = Status.FAILED
    error: str
    recoverable: bool
    failed_at_ms: int
    retry_count: int = 0


class CancelledDetail(Frozen):
    """Detail of Cancelled."""

    status: Literal[Status.CANCELLED] = Status.CANCELLED
    cancelled_at_ms: int
    reason: str | None = None


Detail = Annotated[
    QueuedDetail
    | RunningDetail
    | WaitingForUserDetail
    | BlockedDetail
    | PausedDetail
    | CompletedDetail
    | FailedDetail
    | CancelledDetail,
    Field(discriminator="status"),
]


class Mode(StrEnum):
    """What the model's end_turn means."""

    AUTONOMOUS = "autonomous"
    """The task is completed."""
    CONVERSATIONAL = "conversational"
    """The task waits for the person's next message."""


class OnUnknownOutcome(StrEnum):
    """What happens when an opaque tool was interrupted and nothing knows whether it ran."""

    TELL_MODEL = "tell_model"
    """The tool result says so and asks to look before repeating."""
    ASK_USER = "ask_user"
    """A person decides."""


class TaskSpec(Frozen):
    """What a task was asked to do. Never changes after create.

    Args:
        task_id: `task-` and a UUID v7.
        name: one line for lists.
        prompt: the person's request, the first user message.
        model, fallbacks, tier: as resolved at create (see ModelChoice); what holds now is `TaskRecord.choice`.
        max_tokens: reply limit of each call.
        working_dir: absolute path of the directory that tools work in; None for a task without files.
        system: extra system prompt text.
        allow: tools that need no asking, `*` for all, or some of their calls: `run_command: pytest *`.
        mode: what end_turn means.
        on_unknown_outcome, extra: see OnUnknownOutcome, and decide.request_extra: further fields of each request.
        limits: turns and money at create, as what was asked for; those that hold stand in the record.
        priority: 0 (critical) to 4 (low).
        parent_id: the task that spawned this one.
        depth: how many tasks stand above it.
        on_parent_end: what becomes of it when its parent is over; None: it is cancelled.
        blocked_by: tasks that must end first, as asked for at create; those that hold stand in the record.
        tags, labels: free words; what its money is counted under, as `team` to `web` (a label may have a pool).
        worktree: path of a git worktree made for the task.
        permission_timeout_s: seconds until an unanswered permission counts as denied; None for no limit.
        starts_at_ms: server time before which it does not begin; None: at once.
        created_at_ms: server time.
        schema_version: version of this shape.
    """

    task_id: str = Field(pattern=r"^task-[0-9a-f-]{36}$")
    name: str = Field(min_length=1, max_length=NAME_MAX_CHARS)
    prompt: str = Field(min_length=1, max_length=TEXT_MAX_CHARS)
    model: str = Field(min_length=1, max_length=200)
    max_tokens: int = Field(default=16_384, ge=1, le=1_000_000)
    working_dir: str | None = None
    system: str = Field(default="", max_length=TEXT_MAX_CHARS)
    allow: tuple[str, ...] = ()
    mode: Mode = Mode.AUTONOMOUS
    on_unknown_outcome: OnUnknownOutcome = OnUnknownOutcome.TELL_MODEL
    limits: Limits = Limits()
    priority: int = Field(default=2, ge=0, le=4)
    parent_id: str | None = None
    depth: int = Field(default=0, ge=0, le=10)
    on_parent_end: OnParentEnd | None = None
    blocked_by: tuple[Annotated[Dependency, BeforeValidator(as_dependency)], ...] = ()
    tags: tuple[str, ...] = ()
    labels: dict[LabelName, LabelValue] = Field(default_factory=dict, max_length=MAX_LABELS)
    worktree: str | None = None
    permission_timeout_s: float | None = Field(default=None, gt=0)
    created_at_ms: int = 0
    fallbacks: tuple[str, ...] = Field(default=(), max_length=MAX_FALLBACKS)
    tier: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    starts_at_ms: int | None = Field(default=None, ge=0)
    schema_version: int = SCHEMA_VERSION


class TaskRecord(Frozen):
    """A task as stored, read at one instant.

    Args:
        spec: what was asked.
        status: where it stands; `detail` says more.
        marker, counters: the journal's last change, and totals.
        seq: grows with every move out of a place; a broker message with another seq is stale.
        fence: grows with every claim and recovery.
        claim_id, owner: random id of the present or last claim, and process id of its holder.
        lease_until_ms, place: lease expiry; outbox, leases, timers or waits. None without one, or when terminal.
        pause_requested, cancel_requested: flags set by people while a worker holds the task.
        prompts, grants: open ones; remembered permission answers, `TOOL` or `TOOL: PATTERN` to granted or denied.
        started_reason: why the present stretch of work began.
        unsafe_until_ms: until then a former owner that was only seen absent may still act.
        saved_at_ms: last commit, or the claim after a long rest, from which the age rule counts.
        created_at_ms: create.
        limits: that hold now: those of create until a person sets others.
        turns_from: turns done when the present piece of work began; the limit of turns counts from there.
        model: what is called once a person or a refusal has changed it; None while the spec says it.
        reserved_microusd: what its call under way may cost of pools; 0 where no pool is.
        shortage: the pool that its next call waits for; None while it does not wait for one.
        dependencies, locks: tasks that it waits for, or has waited for; what its calls hold or wait for.
        tree_turns: turns that it has taken, with all that is below it; where it has no family, those it has done.
        children, below_microusd: tasks that it has made; what those have cost, with all that is below them.
        outcomes: what came of those of them that no turn has taken yet.
        starts_at_ms: that of its spec while its time is still to come; None from then on.
        resets: how often it began anew; shown to nobody, it tells the calls of one conversation from those of the next.
        cost_by_day: micro-dollars by day (since 1970-01-01, UTC), of the days from the release on that counts them.
    """

    spec: TaskSpec
    status: Status
    detail: Detail
    marker: Marker
    counters: Counters
    seq: int
    fence: int
    claim_id: str | None = None
    owner: str | None = None
    lease_until_ms: int | None = None
    place: str | None = None
    pause_requested: bool = False
    cancel_requested: bool = False
    prompts: tuple[Prompt, ...] = ()
    grants: dict[str, str] = Field(default_factory=dict)
    started_reason: StartedReason = StartedReason.USER_REQUEST
    unsafe_until_ms: int = 0
    saved_at_ms: int = 0
    created_at_ms: int = 0
    limits: Limits = Limits()
    turns_from: int = 0
    model: ModelChoice | None = None
    reserved_microusd: int = 0
    shortage: Shortage | None = None
    dependencies: tuple[Awaited, ...] = ()
    locks: TaskLocks | None = None
    children: tuple[Child, ...] = ()
    below_microusd: int = 0
    starts_at_ms: int | None = None
    tree_turns: int = 0
    outcomes: dict[str, ChildOutcome] = Field(default_factory=dict, exclude=True)
    resets: int = Field(default=0, exclude=True)
    cost_by_day: dict[int, int] = Field(default_factory=dict, exclude=True)
    schema_version: int = SCHEMA_VERSION

    @property
    def task_id(self) -> str:
        """The spec's id."""
        return self.spec.task_id

    @property
    def choice(self) -> ModelChoice:
        """The models that hold now."""
        return self.model or ModelChoice(model=self.spec.model, fallbacks=self.spec.fallbacks, tier=self.spec.tier)

    @property
    def short_id(self) -> str:
        """The random end of the id, which every command takes."""
        return self.spec.task_id.rpartition("-")[2]
