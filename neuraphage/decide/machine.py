"""What a turn does next. One table serves fresh and resumed turns: recovery is not a mode.

`decide` names the shape of the journal and who wrote it, looks the move up in MATRIX, and says by which action it is
made now. A shape without a row is a bug.
"""

from __future__ import annotations

from neuraphage.decide.actions import (
    Action,
    AskDetached,
    AskHosts,
    AskPeople,
    AskReply,
    AskWhatHappened,
    Attach,
    AttachReply,
    GiveBack,
    LookAfter,
    PutBack,
    Record,
    RunTool,
    TakeAnswers,
    WaitUntil,
)
from neuraphage.decide.before_call import before_call, is_paid
from neuraphage.decide.begun_call import Finding, Found
from neuraphage.decide.capacity import capacity_first
from neuraphage.decide.children import is_open, of_entry
from neuraphage.decide.context_actions import Compact
from neuraphage.decide.control import endings_last
from neuraphage.decide.end_actions import Fail
from neuraphage.decide.given_result import forbidden_result, of_other_tools_result
from neuraphage.decide.guarding import why_stopped
from neuraphage.decide.host_requests import host_asked, hosts_to_ask
from neuraphage.decide.matrix import MATRIX, STARTED_SHAPES, Move, Origin, Shape
from neuraphage.decide.next_call import is_forbidden, next_call
from neuraphage.decide.retry import advice, can_be_retried
from neuraphage.decide.snapshot import Snapshot
from neuraphage.decide.turn_end import turn_end
from neuraphage.model.effect import (
    SUMMARY_ENTRY,
    EffectClass,
    EffectState,
    JournalEntry,
    ModelEffect,
    ToolEffect,
    model_effect,
    summary_effect,
    tool_effect,
)
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import OnUnknownOutcome
from neuraphage.model.tool import ToolCall, ToolDeclaration, ToolResult


def decide(snapshot: Snapshot) -> Action:
    """Name the next action.

    Raises:
        KeyError: the matrix has no row for what the journal holds; a bug.
    """
    if snapshot.stop is not None:
        return GiveBack(snapshot.stop)
    move, entry, call = move_of(snapshot)
    foregone = _foregone(snapshot, move, entry, call)
    if foregone is not None:
        return foregone
    match move:
        case Move.CALL_MODEL | Move.CALL_RETRY | Move.CALL_AGAIN | Move.ASK_REPLY:
            again = move is Move.CALL_AGAIN
            return _sent_before(snapshot, entry) if move is Move.ASK_REPLY else _call(snapshot, entry, again)
        case Move.TAKE_ANSWERS:
            return TakeAnswers()
        case Move.ANNOUNCE:
            return AskPeople()
        case Move.END_TURN:
            return turn_end(snapshot)
        case Move.NEXT_TOOL if call is not None:
            return next_call(snapshot, call)
        case Move.ASK_HOSTS if call is not None and isinstance(entry, ToolEffect):
            return AskHosts(call, hosts_to_ask(entry, snapshot.reach, snapshot.grants))
        case Move.USE_OUTCOME:
            raise AssertionError("an outcome in hand is noted before the next decision")
    match entry:
        case ModelEffect():
            return _after_failure(move, entry)
        case ToolEffect() if call is not None:
            return _inherited(snapshot, move, entry, call)
        case _:
            raise AssertionError(f"{move} needs an effect")


def _foregone(snapshot: Snapshot, move: Move, entry: JournalEntry | None, call: ToolCall | None) -> Action | None:
    """What goes before other moves: a guard stops the task, or it is known what came of a begun call."""
    stopped = why_stopped(snapshot.blocked, entry)
    if stopped is not None:
        return stopped
    if call is None or not isinstance(entry, ToolEffect):
        return None
    if move in {Move.AWAIT_CHILDREN, Move.TAKE_CHILDREN}:
        return of_entry(snapshot.record, call, entry)
    found = _found(snapshot, entry)
    return None if found is None else _settled(snapshot, entry, call, found)


def move_of(snapshot: Snapshot) -> tuple[Move, JournalEntry | None, ToolCall | None]:
    """The move of the matrix, with the entry and the call that it is about."""
    shape, entry, call = _shape(snapshot)
    origin = Origin.OWN if entry is not None and entry.fence == snapshot.fence else Origin.INHERITED
    return MATRIX[shape, origin], entry, call


def _call(snapshot: Snapshot, entry: JournalEntry | None, may_be_billed: bool) -> Action:
    """The model is called, unless something comes before it, or the call has to wait."""
    action = before_call(snapshot, entry, may_be_billed)
    summary = action if isinstance(action, Compact) else None
    return (capacity_first(snapshot, summary) or action) if is_paid(action) else action


def _sent_before(snapshot: Snapshot, entry: JournalEntry | None) -> Action:
    """A former lease had sent a call. A reply that a relay holds is paid already, whatever the limits say."""
    match snapshot.reply_found:
        case None:
            return AskReply()
        case Finding.RUNNING | Finding.ENDED:
            return AttachReply()
        case _:
            return _call(snapshot, entry, True)


def _after_failure(move: Move, entry: ModelEffect) -> Action:
    """A model call has failed."""
    if move is Move.WAIT_RETRY:
        return WaitUntil(entry.retry_at_ms or 0)
    what = "call for a summary of the conversation" if entry.key == SUMMARY_ENTRY else "model call"
    text = f"The {what} failed for good after {entry.attempt} calls ({entry.fault}): {entry.error}"
    todo = advice(entry.fault, reply_begun=entry.reply_begun)
    return Fail(f"{text}\n{todo}" if todo else text, recoverable=can_be_retried(entry.fault))


def _inherited(snapshot: Snapshot, move: Move, entry: ToolEffect, call: ToolCall) -> Action:
    """A former lease had begun a call: what came of it is found out, and nothing is done twice on a guess."""
    match move:
        case Move.RUN_AGAIN:
            return PutBack(call, entry.attempt)
        case Move.RUN_AGAIN_KEYED if is_forbidden(snapshot, call):
            return _unknown(snapshot, call, forbidden_result(call.name))
        case Move.RUN_AGAIN_KEYED:
            return RunTool(call, entry.attempt)
        case Move.PROBE if snapshot.now_ms < snapshot.record.unsafe_until_ms:
            # the former owner was only seen absent: until its own deadline it may still be writing
            return WaitUntil(snapshot.record.unsafe_until_ms)
        case Move.PROBE:
            return LookAfter(call)
        case Move.ASK:
            return AskDetached(call)
        case Move.LEAVE_UNKNOWN:
            tool, problem = snapshot.tools.get(call.name), snapshot.problems.get(call.tool_use_id)
            return _unknown(snapshot, call, of_other_tools_result(call.name, tool, problem))
        case _:
            raise AssertionError(f"{move} is no move about a begun call")


def _found(snapshot: Snapshot, entry: ToolEffect) -> Found | None:
    """What came of a begun call, until that is noted."""
    return None if entry.state is EffectState.COMPLETED else snapshot.found.get(entry.key)


def _settled(snapshot: Snapshot, entry: ToolEffect, call: ToolCall, found: Found) -> Action:
    """What came of a begun call was found out."""
    match found.finding:
        case Finding.ENDED if found.result is not None:
            return Record(call, found.result)
        case Finding.NOT_DONE:
            return PutBack(call, entry.attempt, keeps_evidence=True)
        case Finding.SEALED:
            return PutBack(call, entry.attempt + 1)
        case Finding.RUNNING:
            return Attach(call)
        case Finding.UNKNOWN if found.result is not None:
            return _unknown(snapshot, call, found.result)
        case _:
            raise AssertionError(f"{found.finding} needs a result")


def _unknown(snapshot: Snapshot, call: ToolCall, known: ToolResult) -> Action:
    """Nobody knows what came of a call: the model is told, or a person asked, as the task wants it."""
    asks = snapshot.record.spec.on_unknown_outcome is OnUnknownOutcome.ASK_USER
    return AskWhatHappened(call, known) if asks else Record(call, known)


def _shape(state: Snapshot) -> tuple[Shape, JournalEntry | None, ToolCall | None]:
    if state.answered:
        return Shape.ANSWERED, None, None
    summary, model = summary_effect(state.journal), model_effect(state.journal)
    if summary is not None and summary.state is not EffectState.COMPLETED:
        return _call_shape(state, summary), summary, None
    if model is None or model.state is not EffectState.COMPLETED:
        return _call_shape(state, model), model, None
    for call in endings_last(state.calls, state.tools, state.problems):
        entry = tool_effect(state.journal, call.tool_use_id)
        if entry is not None and entry.state is EffectState.COMPLETED:
            shape = _hosts_shape(state, entry)
            if shape is not None:
                return shape, entry, call
            continue
        if entry is not None and entry.prompt_id in state.prompts:
            return Shape.PROMPT_OPEN, entry, call
        if entry is not None and entry.state is EffectState.STARTED and entry.children:
            waits = is_open(state.record, entry.children, awaits_any=entry.awaits_any)
            return Shape.CHILDREN_OPEN if waits else Shape.CHILDREN_OVER, entry, call
        if entry is not None and entry.state is EffectState.STARTED:
            return _started(entry, state.tools.get(call.name)), entry, call
        return Shape.TOOL_NEXT, entry, call
    return Shape.TOOLS_DONE, model, None


def _call_shape(state: Snapshot, model: ModelEffect | None) -> Shape:
    """The shape of a turn whose next call of the model, for the reply or for a summary before it, is not over."""
    if model is None or model.state is EffectState.PLANNED:
        talking = any(p.kind is PromptKind.CONVERSATION for p in state.prompts.values())
        return Shape.PROMPT_OPEN if talking else Shape.EMPTY
    if model.state is EffectState.STARTED:
        return STARTED_SHAPES[model.class_of_repeat]
    if model.retry_at_ms is None:
        return Shape.SUMMARY_OVER if model.key == SUMMARY_ENTRY else Shape.CALL_OVER
    due = Shape.CALL_DUE_BEGUN if model.reply_begun else Shape.CALL_DUE
    return Shape.CALL_WAITING if model.retry_at_ms > state.now_ms else due


def _hosts_shape(state: Snapshot, entry: ToolEffect) -> Shape | None:
    """The shape of a call that is over but for the hosts that it was refused; None where it is over."""
    if not entry.refused:
        return None
    mine = (prompt for prompt in state.prompts.values() if prompt.tool_use_id == entry.key)
    if any(host_asked(prompt) is not None for prompt in mine):
        return Shape.PROMPT_OPEN
    asks = state.asks_hosts and hosts_to_ask(entry, state.reach, state.grants)
    return Shape.HOSTS_REFUSED if asks else None


def _started(entry: ToolEffect, tool: ToolDeclaration | None) -> Shape:
    """The shape of a call that was begun, perhaps by a worker with other tools."""
    effect_class = entry.class_of_repeat
    if effect_class is EffectClass.PURE:
        return Shape.STARTED_PURE if tool is not None else Shape.TOOL_NEXT  # then its result says that it is gone
    if tool is None or (entry.version is not None and entry.version != tool.version):
        return Shape.STARTED_OTHERWISE
    return STARTED_SHAPES[effect_class]
