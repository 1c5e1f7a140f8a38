"""What a turn does next. One table serves fresh and resumed turns: recovery is not a mode.

`decide` names the shape of the journal and who wrote it, looks the move up in MATRIX and fills in the call
it is about. A shape without a row is a bug. The matrix in GUARANTEES.md is printed from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from neuraphage.decide.control import endings_last, why_held_back
from neuraphage.decide.policy import Ruling, ruling
from neuraphage.model.effect import MODEL_ENTRY, EffectClass, EffectState, JournalEntry
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TaskSpec
from neuraphage.model.tool import ControlKind, ToolCall, ToolDeclaration


class Shape(StrEnum):
    """What the journal says of the turn."""

    EMPTY = "empty"
    CALL_STARTED = "request started"
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
    ASK_SPOOL = "ask the spool; still unknown: never re-run"
    LEAVE_UNKNOWN = "never re-run: its outcome is unknown"
    END_TURN = "finish the turn"


_SAME = (Origin.OWN, Origin.INHERITED)


def _rows(shape: Shape, move: Move) -> dict[tuple[Shape, Origin], Move]:
    return {(shape, origin): move for origin in _SAME}


MATRIX: Mapping[tuple[Shape, Origin], Move] = {
    **_rows(Shape.EMPTY, Move.CALL_MODEL),
    (Shape.CALL_STARTED, Origin.OWN): Move.USE_OUTCOME,
    (Shape.CALL_STARTED, Origin.INHERITED): Move.CALL_AGAIN,
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
    (Shape.STARTED_OPAQUE, Origin.INHERITED): Move.ASK_SPOOL,
    (Shape.STARTED_OTHERWISE, Origin.OWN): Move.USE_OUTCOME,
    (Shape.STARTED_OTHERWISE, Origin.INHERITED): Move.LEAVE_UNKNOWN,
}

STARTED_SHAPES: Mapping[EffectClass, Shape] = {
    EffectClass.PURE: Shape.STARTED_PURE,
    EffectClass.KEYED: Shape.STARTED_KEYED,
    EffectClass.CHECKABLE: Shape.STARTED_CHECKABLE,
    EffectClass.OPAQUE: Shape.STARTED_OPAQUE,
}


class NextTool(StrEnum):
    """What NEXT_TOOL comes to for one call."""

    RUN = "run"
    ASK = "ask"
    DENIED = "denied"
    BLOCKED = "blocked"
    REFUSED = "refused"
    """Unknown tool or parameters that do not fit: the result says so."""
    CONTROL = "control"
    """complete_task, fail_task: recorded here, carried out when the turn ends."""
    HELD_BACK = "held back"
    """complete_task beside a call that failed, and the like: the result says why, and the task goes on."""


@dataclass(frozen=True, slots=True)
class TurnState:
    """Everything the next move depends on.

    Args:
        spec: the task.
        fence: of this lease.
        journal: by key.
        calls: tool calls of the turn's reply, in order.
        tools: declarations by name.
        problems: tool_use id -> why the call cannot be run at all.
        grants: remembered permissions by tool name.
        prompts: open prompts by id.
        answered: ids of open prompts that the inbox answers (a conversation prompt is answered by any input).
        now_ms: server time.
    """

    spec: TaskSpec
    fence: int
    journal: Mapping[str, JournalEntry]
    calls: tuple[ToolCall, ...]
    tools: Mapping[str, ToolDeclaration]
    problems: Mapping[str, str]
    grants: Mapping[str, str]
    prompts: Mapping[str, Prompt]
    answered: frozenset[str]
    now_ms: int


@dataclass(frozen=True, slots=True)
class Decision:
    """The next move, with the call it is about."""

    move: Move
    call: ToolCall | None = None
    entry: JournalEntry | None = None
    next_tool: NextTool | None = None


def decide(state: TurnState) -> Decision:
    """Name the next move.

    Raises:
        KeyError: the matrix has no row for what the journal holds; a bug.
    """
    shape, entry, call = _shape(state)
    origin = Origin.OWN if entry is not None and entry.fence == state.fence else Origin.INHERITED
    move = MATRIX[shape, origin]
    if move is Move.NEXT_TOOL and call is not None:
        return Decision(move, call, entry, next_tool(state, call))
    return Decision(move, call, entry)


def _shape(state: TurnState) -> tuple[Shape, JournalEntry | None, ToolCall | None]:
    if state.answered:
        return Shape.ANSWERED, None, None
    model = state.journal.get(MODEL_ENTRY)
    if model is None:
        talking = any(p.kind is PromptKind.CONVERSATION for p in state.prompts.values())
        return (Shape.PROMPT_OPEN if talking else Shape.EMPTY), None, None
    if model.state is EffectState.STARTED:
        return Shape.CALL_STARTED, model, None
    if model.state is EffectState.FAILED:
        if model.retry_at_ms is None:
            return Shape.CALL_OVER, model, None
        due = Shape.CALL_DUE_BEGUN if model.reply_begun else Shape.CALL_DUE
        return (Shape.CALL_WAITING if model.retry_at_ms > state.now_ms else due), model, None
    for call in endings_last(state.calls, state.tools, state.problems):
        entry = state.journal.get(call.tool_use_id)
        if entry is not None and entry.state is EffectState.COMPLETED:
            continue
        if entry is not None and entry.prompt_id in state.prompts:
            return Shape.PROMPT_OPEN, entry, call
        if entry is not None and entry.state is EffectState.STARTED:
            return _started(entry, state.tools.get(call.name)), entry, call
        return Shape.TOOL_NEXT, entry, call
    return Shape.TOOLS_DONE, model, None


def _started(entry: JournalEntry, tool: ToolDeclaration | None) -> Shape:
    """The shape of a call that was begun, perhaps by a worker with other tools."""
    effect_class = entry.effect_class or EffectClass.OPAQUE
    if effect_class is EffectClass.PURE:
        return Shape.STARTED_PURE if tool is not None else Shape.TOOL_NEXT  # then its result says that it is gone
    if tool is None or (entry.version is not None and entry.version != tool.version):
        return Shape.STARTED_OTHERWISE
    return STARTED_SHAPES[effect_class]


def next_tool(state: TurnState, call: ToolCall) -> NextTool:
    """What to do with a call that has not started."""
    tool = state.tools.get(call.name)
    if call.tool_use_id in state.problems or tool is None:
        return NextTool.REFUSED
    if tool.control is ControlKind.ASK_USER:
        return NextTool.ASK
    if tool.control is not None:
        held = why_held_back(call, state.calls, state.tools, state.problems, state.journal)
        return NextTool.CONTROL if held is None else NextTool.HELD_BACK
    entry = state.journal.get(call.tool_use_id)
    decided = entry.permission if entry is not None else None
    match ruling(tool, call.params, state.spec.allow, state.grants, decided):
        case Ruling.ALLOWED:
            return NextTool.RUN
        case Ruling.DENIED:
            return NextTool.DENIED
        case Ruling.BLOCKED:
            return NextTool.BLOCKED
        case Ruling.ASK:
            return NextTool.ASK


def matrix_markdown() -> str:
    """The matrix as a Markdown table, for GUARANTEES.md."""
    lines = ["| journal | written by this lease | inherited |", "| --- | --- | --- |"]
    for shape in Shape:
        own, inherited = MATRIX[shape, Origin.OWN].value, MATRIX[shape, Origin.INHERITED].value
        lines.append(f"| {shape.value} | {own} | {'same' if own == inherited else inherited} |")
    return "\n".join(lines)
