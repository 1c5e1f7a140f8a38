"""Effects and their journal: the record of everything a turn does outside Redis.

The journal has one entry an effect. Its last change is the task's marker. Decisions read the journal;
the marker is for people (and a test proves that both agree).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from neuraphage.model.base import Frozen


class EffectClass(StrEnum):
    """What running the effect a second time does."""

    PURE = "pure"
    """Reads only: run again."""
    KEYED = "keyed"
    """The other side drops repeats of the same key: run again with the same key."""
    CHECKABLE = "checkable"
    """The world shows whether it happened: probe, then skip or run."""
    OPAQUE = "opaque"
    """Nothing but the spool knows: never run again on a guess."""


class EffectKind(StrEnum):
    """The two kinds of effect."""

    MODEL = "model"
    TOOL = "tool"


class EffectState(StrEnum):
    """How far an effect has come, as last committed."""

    PLANNED = "planned"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"


class Permission(StrEnum):
    """What a person decided about one tool call."""

    GRANTED = "granted"
    DENIED = "denied"


MODEL_ENTRY = "model"
"""Key of the journal entry of the turn's model call; tool calls use their tool_use id."""


class JournalEntry(Frozen):
    """One effect of the turn.

    Args:
        key: `model`, or the tool_use id.
        kind: model or tool.
        state: how far it has come.
        fence: the lease that wrote this state; another fence means that the entry is inherited.
        request_id: model: id of the request, the same for a repeated call of the same request.
        attempt: model: how many calls were made under this request id (1 for the first).
        retry_at_ms: model, failed: when the next call is due (server time, milliseconds).
        error: failed: what went wrong, for people.
        fault: model, failed: the fault kind, which names the retry rule.
        faults: model: faults counted against the retry rule so far.
        plain: model: whether the request holds words, calls and results alone, since more of it was refused.
        reply_begun: model, failed: whether the reply had begun when it broke off, so that it may be billed.
        response_hash: model, completed: sha256 of the reply's content.
        stop_reason: model, completed: why the model stopped.
        tool: tool: its name.
        params_hash: tool: sha256 of the canonical JSON of its parameters.
        effect_class: tool: what a repeat does.
        version: tool: of what the call meant when it was begun; None from a release that kept none.
        evidence: tool, checkable: facts read before the start which let a probe tell whether it happened, and
            `approved_file`, the file as it was when a person was asked about the call (then from the asking on);
            spooled: `spool` and `at_ms`, whose spool knows of it and since when (server time).
        permission: tool: what a person decided, if anyone was asked.
        permission_by: tool: who decided it (`user`, `timeout`: nobody had answered in time).
        prompt_id: tool: the prompt that asks about this call, if one was opened.
        result_hash: tool, completed: sha256 of the result.
        is_error: tool, completed: whether the result tells of an error.
    """

    key: str
    kind: EffectKind
    state: EffectState
    fence: int = 0
    request_id: str | None = None
    attempt: int = 0
    retry_at_ms: int | None = None
    error: str | None = None
    fault: str | None = None
    faults: int = 0
    plain: bool = False
    reply_begun: bool = False
    response_hash: str | None = None
    stop_reason: str | None = None
    tool: str | None = None
    params_hash: str | None = None
    effect_class: EffectClass | None = None
    version: str | None = None
    evidence: dict[str, Any] | None = None
    permission: Permission | None = None
    permission_by: str | None = None
    prompt_id: str | None = None
    result_hash: str | None = None
    is_error: bool = False


class MarkerName(StrEnum):
    """The six checkpoint markers (requirements R29-R34, K6)."""

    TASK_CREATED = "task_created"
    REQUEST_SENT = "request_sent"
    RESPONSE_RECEIVED = "response_received"
    TOOL_STARTED = "tool_started"
    TOOL_COMPLETED = "tool_completed"
    WAITING_FOR_USER = "waiting_for_user"


class Marker(Frozen):
    """The journal's last change, by name, with what identifies it.

    Args:
        name: one of the six.
        request_id: request_sent.
        response_hash: response_received.
        tool: tool_started, tool_completed: the tool's name.
        tool_use_id: tool_started, tool_completed.
        params_hash: tool_started.
        result_hash: tool_completed.
        prompt_hash: waiting_for_user: sha256 of the open prompts.
    """

    name: MarkerName
    request_id: str | None = None
    response_hash: str | None = None
    tool: str | None = None
    tool_use_id: str | None = None
    params_hash: str | None = None
    result_hash: str | None = None
    prompt_hash: str | None = None
