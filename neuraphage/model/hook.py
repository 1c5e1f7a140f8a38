"""Hooks: the 30 points where code of a person meets a task, and what a guard may answer."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from pydantic import Field, model_validator

from neuraphage.model.base import Frozen


class HookKind(StrEnum):
    """What a hook of a point is; no point has both."""

    GUARD = "guard"
    """Asked inside the turn before the effect; what it answers holds. It fails closed."""
    OBSERVER = "observer"
    """Told of what has happened, later and at least once. It fails open, and slows no turn."""


class HookPoint(StrEnum):
    """Every point, with the kind of its hooks. Points of observers are named as the events that they are told of."""

    kind: HookKind

    def __new__(cls, value: str, kind: HookKind = HookKind.OBSERVER) -> Self:
        """One point: its name, and the kind of its hooks."""
        point = str.__new__(cls, value)
        point._value_ = value
        point.kind = kind
        return point

    # --- lifecycle ---
    TASK_CREATED = "TaskCreated", HookKind.OBSERVER
    """It was submitted."""
    TASK_SCHEDULED = "TaskScheduled", HookKind.OBSERVER
    """It was admitted: a slot is its own."""
    TASK_STARTED = "TaskStarted", HookKind.OBSERVER
    """Its first turn began."""
    TASK_PAUSED = "TaskPaused", HookKind.OBSERVER
    """It stands until it is resumed."""
    TASK_RESUMED = "TaskResumed", HookKind.OBSERVER
    """A later stretch of work began."""
    TASK_COMPLETED = "TaskCompleted", HookKind.OBSERVER
    """Over: done."""
    TASK_FAILED = "TaskFailed", HookKind.OBSERVER
    """Over: failed."""
    TASK_CANCELLED = "TaskCancelled", HookKind.OBSERVER
    """Over: cancelled."""

    # --- iteration ---
    PRE_CONTEXT_ASSEMBLY = "PreContextAssembly", HookKind.GUARD
    """The next request is about to be put together."""
    POST_CONTEXT_ASSEMBLY = "PostContextAssembly", HookKind.GUARD
    """The request is put together."""
    PRE_LLM_CALL = "PreLLMCall", HookKind.GUARD
    """The model is about to be asked."""
    POST_LLM_CALL = "PostLLMCall", HookKind.GUARD
    """The model has replied, and the reply is not stored yet."""
    PRE_TOOL_USE = "PreToolUse", HookKind.GUARD
    """A call has not been judged by rules yet, and nobody was asked about it."""
    POST_TOOL_USE = "PostToolUse", HookKind.GUARD
    """A call has run, and its result is not stored yet."""
    PRE_USER_PROMPT = "PreUserPrompt", HookKind.GUARD
    """A person is about to be asked a question of the model."""
    POST_USER_INPUT = "PostUserInput", HookKind.GUARD
    """What a person wrote is about to be taken in."""
    LOOP_ITERATION = "LoopIteration", HookKind.GUARD
    """A turn is about to end, by another one, by rest, or by the end of the task."""

    # --- cross-task ---
    LEARNING_EXTRACTED = "LearningExtracted", HookKind.OBSERVER
    """Something that it has learned is kept for others."""
    KNOWLEDGE_QUERY = "KnowledgeQuery", HookKind.OBSERVER
    """It was looked up what others have learned."""
    KNOWLEDGE_INJECTED = "KnowledgeInjected", HookKind.OBSERVER
    """Its next request tells the model of that."""
    RESOURCE_LOCK_WAIT = "ResourceLockWait", HookKind.OBSERVER
    """It waits for locks that others hold."""
    RESOURCE_LOCK_ACQUIRED = "ResourceLockAcquired", HookKind.OBSERVER
    """It holds the locks that a call of it needs."""
    RESOURCE_LOCK_RELEASED = "ResourceLockReleased", HookKind.OBSERVER
    """It holds them no more."""
    SUBTASK_SPAWNED = "SubtaskSpawned", HookKind.OBSERVER
    """It has made another task."""

    # --- security ---
    SECURITY_POLICY_CHECK = "SecurityPolicyCheck", HookKind.GUARD
    """Rules have allowed a call, or a person has, and it has not begun."""
    SECURITY_VIOLATION = "SecurityViolation", HookKind.OBSERVER
    """A call was against a policy, and was not run."""
    PERMISSION_REQUEST = "PermissionRequest", HookKind.GUARD
    """A person is about to be asked whether a call may run."""
    PERMISSION_GRANTED = "PermissionGranted", HookKind.OBSERVER
    """A call was allowed."""
    PERMISSION_DENIED = "PermissionDenied", HookKind.OBSERVER
    """A call was not allowed."""
    ANOMALY_DETECTED = "AnomalyDetected", HookKind.OBSERVER
    """It goes on in a way that leads nowhere."""


GUARD_POINTS = tuple(point for point in HookPoint if point.kind is HookKind.GUARD)
OBSERVER_POINTS = tuple(point for point in HookPoint if point.kind is HookKind.OBSERVER)


class VerdictKind(StrEnum):
    """What a guard may say."""

    ALLOW = "allow"
    """As if it were not there."""
    BLOCK = "block"
    """Not so, with a reason."""
    CHANGE = "change"
    """Otherwise, with what is other."""
    ANSWER = "answer"
    """Not at all, since this is what comes of it."""


MAX_REASON_CHARS = 4_000


class Verdict(Frozen, extra="forbid"):
    """What a guard says; `allow`, `block`, `change` and `answer` of neuraphage.hooks make one.

    Args:
        verdict: which kind.
        reason: block: why, for the model and for people.
        params: change of a call: all of its parameters, as they are to be.
        text: change or answer: the words that take the place of those that the payload has, or that are added.
        system: change of a request: words that are added to its system text.
        max_tokens: change of a request: the longest reply.
        is_error: change or answer of a call: whether the result tells of an error; None leaves it.
    """

    verdict: VerdictKind
    reason: str = Field(default="", max_length=MAX_REASON_CHARS)
    params: dict[str, Any] | None = None
    text: str | None = None
    system: str | None = None
    max_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    is_error: bool | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        given = {
            name for name in ("params", "text", "system", "max_tokens", "is_error") if getattr(self, name) is not None
        }
        match self.verdict:
            case VerdictKind.BLOCK if not self.reason.strip():
                raise ValueError("a block needs a reason")
            case VerdictKind.CHANGE if not given:
                raise ValueError("a change needs what is to change")
            case VerdictKind.ANSWER if self.text is None:
                raise ValueError("an answer needs a text")
            case VerdictKind.ALLOW | VerdictKind.BLOCK if given:
                raise ValueError(f"{self.verdict.value} changes nothing, and has {', '.join(sorted(given))}")
        return self


MAY_SAY: Mapping[HookPoint, Mapping[VerdictKind, frozenset[str]]] = {
    HookPoint.PRE_CONTEXT_ASSEMBLY: {VerdictKind.CHANGE: frozenset({"text"})},
    HookPoint.POST_CONTEXT_ASSEMBLY: {VerdictKind.CHANGE: frozenset({"system"})},
    HookPoint.PRE_LLM_CALL: {
        VerdictKind.CHANGE: frozenset({"system", "max_tokens"}),
        VerdictKind.ANSWER: frozenset({"text"}),
    },
    HookPoint.POST_LLM_CALL: {VerdictKind.CHANGE: frozenset({"text"})},
    HookPoint.PRE_TOOL_USE: {
        VerdictKind.CHANGE: frozenset({"params"}),
        VerdictKind.ANSWER: frozenset({"text", "is_error"}),
    },
    HookPoint.POST_TOOL_USE: {VerdictKind.CHANGE: frozenset({"text", "is_error"})},
    HookPoint.PRE_USER_PROMPT: {VerdictKind.CHANGE: frozenset({"text"}), VerdictKind.ANSWER: frozenset({"text"})},
    HookPoint.POST_USER_INPUT: {VerdictKind.CHANGE: frozenset({"text"})},
    HookPoint.LOOP_ITERATION: {VerdictKind.CHANGE: frozenset({"text"})},
    HookPoint.SECURITY_POLICY_CHECK: {},
    HookPoint.PERMISSION_REQUEST: {VerdictKind.ANSWER: frozenset({"text"})},
}
"""What guards of a point may say beside allow and block, and by which fields."""


class Judgement(Frozen):
    """What the guards of a point have said together, as the journal keeps it.

    Args:
        verdict: allow, unless one of them blocked, changed or answered.
        by: names of the guards that did, in order.
        reason: of a block.
        params, text, system, max_tokens, is_error: what is other; see Verdict.
        subject: hash of what was judged, as it is by this; what differs from it is judged anew.
    """

    verdict: VerdictKind = VerdictKind.ALLOW
    by: str = ""
    reason: str = ""
    params: dict[str, Any] | None = None
    text: str | None = None
    system: str | None = None
    max_tokens: int | None = None
    is_error: bool | None = None
    subject: str = ""
