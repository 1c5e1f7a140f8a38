"""The recovery matrix: what the journal says, who wrote it, and the move that follows. GUARANTEES.md prints it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from neuraphage.model.effect import EffectClass


class Shape(StrEnum):
    """What the journal says of the turn."""

    EMPTY = "empty"
    STARTED_BILLED = "request started"
    CALL_WAITING = "call failed, its timer not due"
    CALL_DUE = "call failed, its timer due"
    CALL_DUE_BEGUN = "call failed after its reply had begun, its timer due"
    CALL_OVER = "call failed for good"
    SUMMARY_OVER = "call for a summary failed for good"
    ANSWERED = "prompt open, answer in the inbox"
    PROMPT_OPEN = "prompt open, no answer"
    TOOL_NEXT = "response received or tool completed, calls left"
    TOOLS_DONE = "response received or tool completed, no calls left"
    HOSTS_REFUSED = "command completed, refused hosts that nobody has decided about"
    CHILDREN_OPEN = "subtasks awaited, not over"
    CHILDREN_OVER = "subtasks awaited, over"
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
    ASK_REPLY = (
        "ask the relay what became of it, read its reply; not known: call again under the same request id, count a"
        " possible double billing"
    )
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
    ASK_HOSTS = "ask a person about them and suspend"
    AWAIT_CHILDREN = "suspend until they are over"
    TAKE_CHILDREN = "record what came of them"
    END_TURN = "finish the turn"


_SAME = (Origin.OWN, Origin.INHERITED)


def _rows(shape: Shape, move: Move) -> dict[tuple[Shape, Origin], Move]:
    return {(shape, origin): move for origin in _SAME}


MATRIX: Mapping[tuple[Shape, Origin], Move] = {
    **_rows(Shape.EMPTY, Move.CALL_MODEL),
    (Shape.STARTED_BILLED, Origin.OWN): Move.USE_OUTCOME,
    (Shape.STARTED_BILLED, Origin.INHERITED): Move.ASK_REPLY,
    **_rows(Shape.CALL_WAITING, Move.WAIT_RETRY),
    **_rows(Shape.CALL_DUE, Move.CALL_RETRY),
    **_rows(Shape.CALL_DUE_BEGUN, Move.CALL_AGAIN),
    **_rows(Shape.CALL_OVER, Move.GIVE_UP),
    (Shape.SUMMARY_OVER, Origin.OWN): Move.GIVE_UP,
    (Shape.SUMMARY_OVER, Origin.INHERITED): Move.CALL_RETRY,  # only a person's retry leads here
    **_rows(Shape.ANSWERED, Move.TAKE_ANSWERS),
    **_rows(Shape.PROMPT_OPEN, Move.ANNOUNCE),
    **_rows(Shape.TOOL_NEXT, Move.NEXT_TOOL),
    **_rows(Shape.TOOLS_DONE, Move.END_TURN),
    **_rows(Shape.HOSTS_REFUSED, Move.ASK_HOSTS),
    **_rows(Shape.CHILDREN_OPEN, Move.AWAIT_CHILDREN),
    **_rows(Shape.CHILDREN_OVER, Move.TAKE_CHILDREN),
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


def matrix_markdown() -> str:
    """The matrix as a Markdown table, for GUARANTEES.md."""
    lines = ["| journal | written by this lease | inherited |", "| --- | --- | --- |"]
    for shape in Shape:
        own, inherited = MATRIX[shape, Origin.OWN].value, MATRIX[shape, Origin.INHERITED].value
        lines.append(f"| {shape.value} | {own} | {'same' if own == inherited else inherited} |")
    return "\n".join(lines)
