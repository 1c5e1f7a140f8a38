"""Effects and their journal: the record of everything a turn does outside Redis.

The journal has one entry an effect. Its last change is the task's marker. Decisions read the journal;
the marker is for people (and a test proves that both agree).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from neuraphage.model.base import Frozen
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.hook import HookPoint, Judgement
from neuraphage.model.tool_traits import RatedKind


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
    BILLED = "billed"
    """It changes nothing, and the other side may charge for each: run again under the same id, and count it. A call of
    the model; no tool may be of this class."""


TOOL_CLASSES = (EffectClass.PURE, EffectClass.KEYED, EffectClass.CHECKABLE, EffectClass.OPAQUE)
"""What a tool may declare."""


class EffectKind(StrEnum):
    """The kinds of effect; each has a shape of its own in the journal."""

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
SUMMARY_ENTRY = "model:summary"
"""Key of the call of the model that makes a summary before it. No tool_use id has a colon."""


class _Effect(Frozen):
    """What every effect of a turn has.

    Args:
        key: names it in the journal.
        state: how far it has come.
        fence: the lease that wrote this state; another fence means that the entry is inherited.
        attempt: model: how many calls were made under this request id (1 for the first); tool: starts that are known
            not to have run.
        guarded: what guards have said of it, by point, as `judged_at` reads it; they are not asked the same again.
    """

    key: str
    state: EffectState
    fence: int = 0
    attempt: int = 0
    guarded: dict[str, dict[str, Any]] = Field(default_factory=dict)

    def judged_at(self, point: HookPoint) -> Judgement | None:
        """What the guards of a point have said; None where nobody has asked them."""
        said = self.guarded.get(point.value)
        return None if said is None else Judgement.model_validate(said)

    def with_judgement(self, point: HookPoint, said: Judgement) -> Self:
        """The same with what the guards of a point have said."""
        kept = said.model_dump(mode="json", exclude_defaults=True)
        return self.model_copy(update={"guarded": {**self.guarded, point.value: kept}})


class ModelEffect(_Effect):
    """A call of the model: for the reply of the turn, or for a summary of what came before it.

    The turn's call is planned again where it was announced, or refused for its length, and the conversation is to be
    made shorter first.

    Args:
        request_id: of the request, the same for a repeated call of the same request.
        reserved_microusd: started: what it may cost at most; 0 for a call that a claim has announced.
        retry_at_ms: failed: when the next call is due (server time, milliseconds).
        error: failed: what went wrong, for people.
        fault: failed: the fault kind, which names the retry rule.
        faults: faults counted against the retry rule so far.
        plain: whether the request holds words, calls and results alone, since more of it was refused.
        compacted: whether it was refused for its length, and made shorter since.
        plan: of a summary: the compaction that it is for, as stored in a conversation.
        model: of a summary: who is asked for it; None of a release that asked the task's own model alone.
        why_own: of a summary: why the task's own model is asked, or is to be asked next; empty for nothing to tell.
        reply_begun: failed: whether the reply had begun when it broke off, so that it may be billed.
        response_hash: completed: sha256 of the reply's content.
        stop_reason: completed: why the model stopped.
        awaits: the call waits for the model to take calls: why, and until when the provider asked everybody to wait
            (server time, milliseconds; 0 for no such time). It is planned, or keeps the state of the call before it.
    """

    kind: Literal[EffectKind.MODEL] = EffectKind.MODEL
    key: str = MODEL_ENTRY
    request_id: str | None = None
    reserved_microusd: int = 0
    retry_at_ms: int | None = None
    error: str | None = None
    fault: str | None = None
    faults: int = 0
    plain: bool = False
    compacted: bool = False
    plan: dict[str, Any] | None = None
    model: str | None = None
    why_own: str = ""
    reply_begun: bool = False
    response_hash: str | None = None
    stop_reason: str | None = None
    awaits: tuple[CapacityReason, int] | None = None

    @property
    def class_of_repeat(self) -> EffectClass:
        """What running it a second time does."""
        return EffectClass.BILLED


class ToolEffect(_Effect):
    """A call of a tool; its key is the tool_use id.

    Args:
        tool: its name.
        params_hash: sha256 of the canonical JSON of its parameters.
        effect_class: what a repeat does.
        put_back: planned: it was begun once, and is known not to have run.
        version: of what the call meant when it was begun; None from a release that kept none.
        evidence: checkable: facts read before the start which let a probe tell whether it happened, and
            `approved_file`, the file as it was when a person was asked about the call (then from the asking on);
            detached: `spool` and `at_ms`, whose spool knows of it and since when (server time).
        permission: what a person decided, if anyone was asked.
        permission_by: who decided it (`user`, `timeout`: nobody had answered in time).
        words: what the person said with a no; the model is told.
        prompt_id: the prompt that asks about this call, if one was opened.
        digest: what a yes of a person is bound to; None while nobody has given one, or of a release without digests.
        edited: parameters that a person has put in place of the model's, before they allowed the call.
        asked: how many permission prompts were opened about this call.
        voided: why a person is asked again, as a sentence.
        held: the call waits for a rate: of which kind, and how many may begin within a minute.
        began: of a call that counts for a rate: of which kind, and when it began (server time, milliseconds).
        result_hash: completed: sha256 of the result.
        is_error: completed: whether the result tells of an error.
        refused: completed: hosts that it was refused and that a person may be asked about, as `pypi.org:443`.
        output_bytes: completed: what its command put out, where that is more than its result holds.
        children: tasks that it has made, or waits for.
        awaits_any: started: whether it waits for one of them instead of for all.
    """

    kind: Literal[EffectKind.TOOL] = EffectKind.TOOL
    tool: str | None = None
    params_hash: str | None = None
    effect_class: EffectClass | None = None
    put_back: bool = False
    version: str | None = None
    evidence: dict[str, Any] | None = None
    permission: Permission | None = None
    permission_by: str | None = None
    words: str | None = None
    prompt_id: str | None = None
    digest: str | None = None
    edited: dict[str, Any] | None = None
    asked: int = 0
    voided: str | None = None
    held: tuple[RatedKind, int] | None = None
    began: tuple[RatedKind, int] | None = None
    result_hash: str | None = None
    is_error: bool = False
    refused: tuple[str, ...] = ()
    output_bytes: int = 0
    children: tuple[str, ...] = ()
    awaits_any: bool = False

    @property
    def class_of_repeat(self) -> EffectClass:
        """What running it a second time does; of a release that kept no class, the most careful one."""
        return self.effect_class or EffectClass.OPAQUE


JournalEntry = Annotated[ModelEffect | ToolEffect, Field(discriminator="kind")]
"""One effect of the turn, by its kind."""
Journal = Mapping[str, JournalEntry]
"""The effects of a turn by key."""


def model_effect(journal: Journal) -> ModelEffect | None:
    """The turn's call of the model, once it was announced, or while it waits for something that comes first."""
    entry = journal.get(MODEL_ENTRY)
    return entry if isinstance(entry, ModelEffect) else None


def summary_effect(journal: Journal) -> ModelEffect | None:
    """The call for a summary that this turn has begun with, once it was announced."""
    entry = journal.get(SUMMARY_ENTRY)
    return entry if isinstance(entry, ModelEffect) else None


def tool_effect(journal: Journal, tool_use_id: str) -> ToolEffect | None:
    """What the journal knows of a call of a tool."""
    entry = journal.get(tool_use_id)
    return entry if isinstance(entry, ToolEffect) else None


class MarkerName(StrEnum):
    """The eight checkpoint markers."""

    TASK_CREATED = "task_created"
    REQUEST_SENT = "request_sent"
    RESPONSE_RECEIVED = "response_received"
    SUMMARY_SENT = "summary_sent"
    SUMMARY_RECEIVED = "summary_received"
    TOOL_STARTED = "tool_started"
    TOOL_COMPLETED = "tool_completed"
    WAITING_FOR_USER = "waiting_for_user"


class Marker(Frozen):
    """The journal's last change, by name, with what identifies it.

    Args:
        name: one of the eight.
        request_id: request_sent, summary_sent.
        response_hash: response_received, summary_received.
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
