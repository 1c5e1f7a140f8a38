"""What a turn does next. One table serves fresh and resumed turns: recovery is not a mode.

`decide` names the shape of the journal and who wrote it, looks the move up in MATRIX, and says by which action it is
made now. A shape without a row is a bug. The matrix in GUARANTEES.md is printed from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from neuraphage.decide.actions import (
    Action,
    AskDetached,
    AskPeople,
    AskWhatHappened,
    CallModel,
    Fail,
    LookAfter,
    Record,
    RunTool,
    StopAtLimit,
    TakeAnswers,
    WaitUntil,
)
from neuraphage.decide.control import endings_last
from neuraphage.decide.limits import limit_failure
from neuraphage.decide.next_call import next_call
from neuraphage.decide.retry import advice, can_be_retried
from neuraphage.decide.snapshot import Snapshot
from neuraphage.decide.turn_end import turn_end
from neuraphage.model.effect import (
    EffectClass,
    EffectState,
    JournalEntry,
    ModelEffect,
    ToolEffect,
    model_effect,
    tool_effect,
)
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import OnUnknownOutcome
from neuraphage.model.tool import ToolCall, ToolDeclaration, ToolResult


class Shape(StrEnum):
    """What the journal says of the turn."""

    EMPTY = "empty"
    STARTED_BILLED = "request started"
    CALL_WAITING = "call failed, its timer not due"
    CALL_DUE = "call failed, its timer due"
    CALL_DUE_BEGUN = "call failed after its reply had begun, its timer due"
    CALL_OVER = "call failed for good"
    ANSWERED = "prompt open, answer in the inbox"
    PROMPT_OPEN = "prompt open, no answer"
    TOOL_NEXT = "response received or tool completed, calls left"
    TOOLS_DONE = "response received or tool completed, no calls left"
    STARTED_PURE = "tool started, pure"
    STARTED_KEYED = "tool started, keyed"
    STARTED_CHECKABLE = "tool started, checkable"
    STARTED_OPAQUE = "tool started, opaque"
    STARTED_OTHERWISE = "tool started, not pure; gone or of another version now"


class Origin(StrEnum):
    """Who wrote the entry that the shape is about."""

    OWN = "written by this lease"
    INHERITED = "inherited"


class Move(StrEnum):
    """What the turn does."""

    CALL_MODEL = "assemble context, call the model"
    CALL_AGAIN = "call again under the same request id, count a possible double billing"
    CALL_RETRY = "call again under the same request id"
    WAIT_RETRY = "wait out the timer"
    GIVE_UP = "fail the task"
    USE_OUTCOME = "use the outcome in hand"
    TAKE_ANSWERS = "consume the answers in the next commit and go on"
    ANNOUNCE = "announce again and suspend"
    NEXT_TOOL = "next tool: run it, ask a person, or record why not"
    RUN_AGAIN = "run again"
    RUN_AGAIN_KEYED = "run again with the same key"
    PROBE = "probe the world, then skip or run"
    ASK = "ask what became of it; still unknown: never re-run"
    LEAVE_UNKNOWN = "never re-run: its outcome is unknown"
    END_TURN = "finish the turn"


_SAME = (Origin.OWN, Origin.INHERITED)


def _rows(shape: Shape, move: Move) -> dict[tuple[Shape, Origin], Move]:
    return {(shape, origin): move for origin in _SAME}


MATRIX: Mapping[tuple[Shape, Origin], Move] = {
    **_rows(Shape.EMPTY, Move.CALL_MODEL),
    (Shape.STARTED_BILLED, Origin.OWN): Move.USE_OUTCOME,
    (Shape.STARTED_BILLED, Origin.INHERITED): Move.CALL_AGAIN,
    **_rows(Shape.CALL_WAITING, Move.WAIT_RETRY),
    **_rows(Shape.CALL_DUE, Move.CALL_RETRY),
    **_rows(Shape.CALL_DUE_BEGUN, Move.CALL_AGAIN),
    **_rows(Shape.CALL_OVER, Move.GIVE_UP),
    **_rows(Shape.ANSWERED, Move.TAKE_ANSWERS),
    **_rows(Shape.PROMPT_OPEN, Move.ANNOUNCE),
    **_rows(Shape.TOOL_NEXT, Move.NEXT_TOOL),
    **_rows(Shape.TOOLS_DONE, Move.END_TURN),
    (Shape.STARTED_PURE, Origin.OWN): Move.USE_OUTCOME,
    (Shape.STARTED_PURE, Origin.INHERITED): Move.RUN_AGAIN,
    (Shape.STARTED_KEYED, Origin.OWN): Move.USE_OUTCOME,
    (Shape.STARTED_KEYED, Origin.INHERITED): Move.RUN_AGAIN_KEYED,
    (Shape.STARTED_CHECKABLE, Origin.OWN): Move.USE_OUTCOME,
    (Shape.STARTED_CHECKABLE, Origin.INHERITED): Move.PROBE,
    (Shape.STARTED_OPAQUE, Origin.OWN): Move.USE_OUTCOME,
    (Shape.STARTED_OPAQUE, Origin.INHERITED): Move.ASK,
    (Shape.STARTED_OTHERWISE, Origin.OWN): Move.USE_OUTCOME,
    (Shape.STARTED_OTHERWISE, Origin.INHERITED): Move.LEAVE_UNKNOWN,
}

STARTED_SHAPES: Mapping[EffectClass, Shape] = {
    EffectClass.PURE: Shape.STARTED_PURE,
    EffectClass.KEYED: Shape.STARTED_KEYED,
    EffectClass.CHECKABLE: Shape.STARTED_CHECKABLE,
    EffectClass.OPAQUE: Shape.STARTED_OPAQUE,
    EffectClass.BILLED: Shape.STARTED_BILLED,
}


def decide(snapshot: Snapshot) -> Action:
    """Name the next action.

    Raises:
        KeyError: the matrix has no row for what the journal holds; a bug.
    """
    move, entry, call = move_of(snapshot)
    if call is not None and call.tool_use_id in snapshot.unknown:
        return _unknown(snapshot, call, snapshot.unknown[call.tool_use_id])  # asked, and found by this lease, too
    match move:
        case Move.CALL_MODEL | Move.CALL_RETRY | Move.CALL_AGAIN:
            reached = limit_failure(snapshot.record)
            return CallModel(may_be_billed=move is Move.CALL_AGAIN) if reached is None else StopAtLimit(reached)
        case Move.TAKE_ANSWERS:
            return TakeAnswers()
        case Move.ANNOUNCE:
            return AskPeople()
        case Move.END_TURN:
            return turn_end(snapshot)
        case Move.NEXT_TOOL if call is not None:
            return next_call(snapshot, call)
        case Move.USE_OUTCOME:
            raise AssertionError("an outcome in hand is noted before the next decision")
    match entry:
        case ModelEffect():
            return _after_failure(move, entry)
        case ToolEffect() if call is not None:
            return _inherited(snapshot, move, entry, call)
        case _:
            raise AssertionError(f"{move} needs an effect")


def move_of(snapshot: Snapshot) -> tuple[Move, JournalEntry | None, ToolCall | None]:
    """The move of the matrix, with the entry and the call that it is about."""
    shape, entry, call = _shape(snapshot)
    origin = Origin.OWN if entry is not None and entry.fence == snapshot.fence else Origin.INHERITED
    return MATRIX[shape, origin], entry, call


def _after_failure(move: Move, entry: ModelEffect) -> Action:
    """A model call has failed."""
    if move is Move.WAIT_RETRY:
        return WaitUntil(entry.retry_at_ms or 0)
    text = f"The model call failed for good after {entry.attempt} calls ({entry.fault}): {entry.error}"
    todo = advice(entry.fault, reply_begun=entry.reply_begun)
    return Fail(f"{text}\n{todo}" if todo else text, recoverable=can_be_retried(entry.fault))


def _inherited(snapshot: Snapshot, move: Move, entry: ToolEffect, call: ToolCall) -> Action:
    """A former lease had begun a call: what came of it is found out, and nothing is done twice on a guess."""
    match move:
        case Move.RUN_AGAIN | Move.RUN_AGAIN_KEYED:
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
            return _unknown(snapshot, call, _of_other_tools(call, tool, problem))
        case _:
            raise AssertionError(f"{move} is no move about a begun call")


def _unknown(snapshot: Snapshot, call: ToolCall, known: ToolResult) -> Action:
    """Nobody knows what came of a call: the model is told, or a person asked, as the task wants it."""
    asks = snapshot.record.spec.on_unknown_outcome is OnUnknownOutcome.ASK_USER
    return AskWhatHappened(call, known) if asks else Record(call, known)


def _of_other_tools(call: ToolCall, tool: ToolDeclaration | None, problem: str | None) -> ToolResult:
    """The result of a call that a worker with other tools had begun, while nobody has said what came of it."""
    if tool is None:
        now = f"The tool is gone since. {problem or ''}".rstrip()
    else:
        now = f"The tool has changed since (it is version {tool.version} now), so it was not called again."
    return ToolResult(
        text=f"{call.name} was interrupted and its outcome is unknown: it may have been done or not. {now} Look at the"
        " present state before you go on.",
        is_error=True,
        unknown_outcome=True,
    )


def _shape(state: Snapshot) -> tuple[Shape, JournalEntry | None, ToolCall | None]:
    if state.answered:
        return Shape.ANSWERED, None, None
    model = model_effect(state.journal)
    if model is None:
        talking = any(p.kind is PromptKind.CONVERSATION for p in state.prompts.values())
        return (Shape.PROMPT_OPEN if talking else Shape.EMPTY), None, None
    if model.state is EffectState.STARTED:
        return STARTED_SHAPES[model.class_of_repeat], model, None
    if model.state is EffectState.FAILED:
        if model.retry_at_ms is None:
            return Shape.CALL_OVER, model, None
        due = Shape.CALL_DUE_BEGUN if model.reply_begun else Shape.CALL_DUE
        return (Shape.CALL_WAITING if model.retry_at_ms > state.now_ms else due), model, None
    for call in endings_last(state.calls, state.tools, state.problems):
        entry = tool_effect(state.journal, call.tool_use_id)
        if entry is not None and entry.state is EffectState.COMPLETED:
            continue
        if entry is not None and entry.prompt_id in state.prompts:
            return Shape.PROMPT_OPEN, entry, call
        if entry is not None and entry.state is EffectState.STARTED:
            return _started(entry, state.tools.get(call.name)), entry, call
        return Shape.TOOL_NEXT, entry, call
    return Shape.TOOLS_DONE, model, None


def _started(entry: ToolEffect, tool: ToolDeclaration | None) -> Shape:
    """The shape of a call that was begun, perhaps by a worker with other tools."""
    effect_class = entry.class_of_repeat
    if effect_class is EffectClass.PURE:
        return Shape.STARTED_PURE if tool is not None else Shape.TOOL_NEXT  # then its result says that it is gone
    if tool is None or (entry.version is not None and entry.version != tool.version):
        return Shape.STARTED_OTHERWISE
    return STARTED_SHAPES[effect_class]


def matrix_markdown() -> str:
    """The matrix as a Markdown table, for GUARANTEES.md."""
    lines = ["| journal | written by this lease | inherited |", "| --- | --- | --- |"]
    for shape in Shape:
        own, inherited = MATRIX[shape, Origin.OWN].value, MATRIX[shape, Origin.INHERITED].value
        lines.append(f"| {shape.value} | {own} | {'same' if own == inherited else inherited} |")
    return "\n".join(lines)
