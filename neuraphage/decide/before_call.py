"""What comes before a call of the model: where the request would be too long, it is made shorter first. Pure."""

from __future__ import annotations

from neuraphage.decide.actions import Action, CallModel
from neuraphage.decide.calling import money_first
from neuraphage.decide.compaction import filled_the_window, is_due, is_near, planned
from neuraphage.decide.context_actions import Compact, CountTokens
from neuraphage.decide.end_actions import Fail, StopAtLimit
from neuraphage.decide.limits import limit_failure
from neuraphage.decide.replies import OVERFLOW_ADVICE
from neuraphage.decide.snapshot import Snapshot
from neuraphage.decide.summary_model import summary_choice
from neuraphage.decide.summary_request import summary_request
from neuraphage.decide.worst_case import request_tokens
from neuraphage.errors import FaultKind
from neuraphage.model.compaction import Compaction, Shortening
from neuraphage.model.effect import SUMMARY_ENTRY, EffectState, JournalEntry, ModelEffect

NOTHING_LEFT = (
    "The conversation does not fit the model's context window, and nothing of it can be left out: what is long is what"
    " was asked for, or what came last."
)


def before_call(snapshot: Snapshot, entry: JournalEntry | None, may_be_billed: bool) -> Action:
    """Call the model, or do what comes before it. No call that is paid is decided without `money_first`.

    Args:
        snapshot: the facts.
        entry: a call that is to be made again; None for the first one of the turn.
        may_be_billed: an earlier call of the same request may be billed, too.
    """
    reached = limit_failure(snapshot.record)
    if reached is not None:
        return StopAtLimit(reached)
    action = _in_shape(snapshot, entry, may_be_billed)
    return (money_first(snapshot, entry, may_be_billed) or action) if is_paid(action) else action


def _in_shape(snapshot: Snapshot, entry: JournalEntry | None, may_be_billed: bool) -> Action:
    """Call the model, or make the conversation shorter first."""
    if isinstance(entry, ModelEffect) and entry.key == SUMMARY_ENTRY:
        return _summary(snapshot, Compaction.model_validate(entry.plan), entry, may_be_billed=may_be_billed)
    bounds = snapshot.context
    refused = is_refused(entry)
    if bounds is None:
        return CallModel(may_be_billed)
    if not refused and snapshot.can_count and snapshot.counted is None and is_near(snapshot.entries, bounds):
        return CountTokens()
    full = refused or filled_the_window(snapshot.entries)
    due = full or is_due(snapshot.entries, bounds, snapshot.counted)
    plan = planned(snapshot.entries, bounds, refused=full) if due else None
    if plan is not None:
        return _summary(snapshot, plan) if plan.how is Shortening.SUMMARY else Compact(plan)
    return Fail(f"{NOTHING_LEFT} {OVERFLOW_ADVICE}", recoverable=True) if refused else CallModel(may_be_billed)


def _summary(
    snapshot: Snapshot, plan: Compaction, begun: ModelEffect | None = None, *, may_be_billed: bool = False
) -> Compact:
    """A summary, and who is asked for it."""
    own, bounds = snapshot.record.choice.model, snapshot.context
    if bounds is None:
        return Compact(plan, may_be_billed, own)
    sizes = {"window_tokens": bounds.window_tokens, "summary_tokens": bounds.summary_tokens}
    tokens = request_tokens(summary_request(snapshot.entries, plan, request_id="", model=own, **sizes))
    choice = summary_choice(
        snapshot.summary, own, begun, tokens=tokens, reply_tokens=bounds.summary_tokens, now_ms=snapshot.now_ms
    )
    return Compact(plan, may_be_billed, choice.model, choice.why_own, tokens)


def is_paid(action: Action) -> bool:
    """Whether an action calls the model. What is left out of a conversation costs nothing."""
    return isinstance(action, CallModel) or (isinstance(action, Compact) and action.plan.how is Shortening.SUMMARY)


def is_refused(entry: JournalEntry | None) -> bool:
    """Whether a call was refused for its length; one that is made again has not been made shorter since."""
    return (
        isinstance(entry, ModelEffect)
        and entry.state is EffectState.FAILED
        and entry.fault == FaultKind.CONTEXT_OVERFLOW
    )
