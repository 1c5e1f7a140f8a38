"""The one table of moves: every row is reached by a state, and by no other state than the one it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from neuraphage.decide.machine import (
    MATRIX,
    STARTED_SHAPES,
    Decision,
    Move,
    NextTool,
    Origin,
    Shape,
    TurnState,
    decide,
    matrix_markdown,
)
from neuraphage.model.effect import MODEL_ENTRY, EffectClass, EffectKind, EffectState, JournalEntry, Permission
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TaskSpec
from neuraphage.model.tool import ControlKind, ToolCall, ToolDeclaration

NOW_MS = 1_000
FENCE = 7
FENCES = {Origin.OWN: FENCE, Origin.INHERITED: FENCE - 1}
SPEC = TaskSpec(task_id="task-00000000-0000-7000-8000-000000000001", name="n", prompt="p", model="m")
CALL = ToolCall(tool_use_id="t1", name="act", params={})


def tool(name: str = "act", *, asks: bool = False, control: ControlKind | None = None) -> ToolDeclaration:
    return ToolDeclaration(
        name=name, description="", input_schema={}, effect_class=EffectClass.PURE, side_effecting=asks,
        timeout_s=1.0, control=control,
    )  # fmt: skip


def model_entry(state: EffectState, fence: int, **more: Any) -> JournalEntry:
    return JournalEntry(key=MODEL_ENTRY, kind=EffectKind.MODEL, state=state, fence=fence, **more)


def tool_entry(state: EffectState, fence: int = FENCE, key: str = "t1", **more: Any) -> JournalEntry:
    return JournalEntry(key=key, kind=EffectKind.TOOL, state=state, fence=fence, **more)


def turn(*entries: JournalEntry, **more: Any) -> TurnState:
    fields: dict[str, Any] = {
        "spec": SPEC, "fence": FENCE, "journal": {e.key: e for e in entries}, "calls": (), "tools": {"act": tool()},
        "problems": {}, "grants": {}, "prompts": {}, "answered": frozenset(), "now_ms": NOW_MS,
    }  # fmt: skip
    return TurnState(**{**fields, **more})


def prompt(kind: PromptKind = PromptKind.PERMISSION) -> Mapping[str, Prompt]:
    return {"p1": Prompt(prompt_id="p1", kind=kind, text="?")}


def state_of(shape: Shape, origin: Origin) -> TurnState:
    """A state of this shape."""
    fence = FENCES[origin]
    replied = model_entry(EffectState.COMPLETED, fence)
    started = {kept: cls for cls, kept in STARTED_SHAPES.items()}
    if shape in started:
        return turn(replied, tool_entry(EffectState.STARTED, fence, effect_class=started[shape]), calls=(CALL,))
    match shape:
        case Shape.EMPTY:
            return turn()
        case Shape.CALL_STARTED:
            return turn(model_entry(EffectState.STARTED, fence))
        case Shape.CALL_WAITING:
            return turn(model_entry(EffectState.FAILED, fence, retry_at_ms=NOW_MS + 1))
        case Shape.CALL_DUE:
            return turn(model_entry(EffectState.FAILED, fence, retry_at_ms=NOW_MS))
        case Shape.CALL_DUE_BEGUN:
            return turn(model_entry(EffectState.FAILED, fence, retry_at_ms=NOW_MS, reply_begun=True))
        case Shape.CALL_OVER:
            return turn(model_entry(EffectState.FAILED, fence))
        case Shape.ANSWERED:
            asked = tool_entry(EffectState.PLANNED, fence, prompt_id="p1")
            return turn(replied, asked, calls=(CALL,), prompts=prompt(), answered=frozenset({"p1"}))
        case Shape.PROMPT_OPEN:
            asked = tool_entry(EffectState.PLANNED, fence, prompt_id="p1")
            return turn(replied, asked, calls=(CALL,), prompts=prompt())
        case Shape.TOOL_NEXT:
            return turn(replied, calls=(CALL,))
        case Shape.STARTED_OTHERWISE:
            begun = tool_entry(EffectState.STARTED, fence, effect_class=EffectClass.KEYED, version="another")
            return turn(replied, begun, calls=(CALL,))
        case _:
            return turn(replied, tool_entry(EffectState.COMPLETED, fence), calls=(CALL,))


@pytest.mark.parametrize("effect_class", EffectClass)
@pytest.mark.parametrize("version", [None, "1", "2"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_begun_call_meets_the_tool_that_began_it(
    effect_class: EffectClass, version: str | None, is_there: bool
) -> None:
    """A pure call may always be made again; any other one by the same version of the tool alone."""
    begun = tool_entry(EffectState.STARTED, FENCE - 1, effect_class=effect_class, version=version)
    more = {} if is_there else {"tools": {}, "problems": {"t1": "gone"}}
    decision = decide(turn(model_entry(EffectState.COMPLETED, FENCE - 1), begun, calls=(CALL,), **more))
    if effect_class is EffectClass.PURE:
        assert decision.move is (Move.RUN_AGAIN if is_there else Move.NEXT_TOOL)
        assert decision.next_tool is (None if is_there else NextTool.REFUSED)
    elif is_there and version != "2":
        assert decision.move is MATRIX[STARTED_SHAPES[effect_class], Origin.INHERITED]
    else:
        assert decision.move is Move.LEAVE_UNKNOWN


@pytest.mark.parametrize(("shape", "origin"), list(MATRIX))
def test_every_row_is_reached(shape: Shape, origin: Origin) -> None:
    """R134-R140: the move of each row, and what it is about, come from a journal of that shape."""
    decision = decide(state_of(shape, origin))
    assert decision.move is MATRIX[shape, origin]
    if shape in STARTED_SHAPES.values() or shape is Shape.TOOL_NEXT:
        assert decision.call == CALL


def test_the_table_is_whole() -> None:
    """Every shape has a row for both origins, and every started class its own shape."""
    assert set(MATRIX) == {(shape, origin) for shape in Shape for origin in Origin}
    assert set(STARTED_SHAPES) == set(EffectClass)
    assert set(MATRIX.values()) == set(Move)


def test_the_table_says_what_the_design_says() -> None:
    """The safety rows by hand: nothing inherited is taken for an outcome, nothing opaque is simply run again."""
    inherited = {shape: MATRIX[shape, Origin.INHERITED] for shape in Shape}
    assert inherited[Shape.CALL_STARTED] is Move.CALL_AGAIN
    assert inherited[Shape.STARTED_PURE] is Move.RUN_AGAIN
    assert inherited[Shape.STARTED_KEYED] is Move.RUN_AGAIN_KEYED
    assert inherited[Shape.STARTED_CHECKABLE] is Move.PROBE
    assert inherited[Shape.STARTED_OPAQUE] is Move.ASK_SPOOL
    assert Move.USE_OUTCOME not in inherited.values()


def test_a_started_call_of_no_known_class_counts_as_opaque() -> None:
    """A journal of an older release without a class gets the most careful row."""
    state = turn(model_entry(EffectState.COMPLETED, FENCE), tool_entry(EffectState.STARTED, FENCE - 1), calls=(CALL,))
    assert decide(state).move is Move.ASK_SPOOL


def test_calls_are_taken_in_the_order_of_the_reply() -> None:
    """R138: the first call without a result is next, whatever the journal's order."""
    calls = tuple(ToolCall(tool_use_id=f"t{n}", name="act", params={}) for n in range(3))
    done = [tool_entry(EffectState.COMPLETED, key=key) for key in ("t2", "t0")]
    decision = decide(turn(model_entry(EffectState.COMPLETED, FENCE), *done, calls=calls))
    assert (decision.move, decision.call) == (Move.NEXT_TOOL, calls[1])


def test_an_answer_goes_before_everything() -> None:
    """What people said is read first, also when a call is open or nothing has begun."""
    state = turn(model_entry(EffectState.STARTED, FENCE - 1), prompts=prompt(), answered=frozenset({"p1"}))
    assert decide(state).move is Move.TAKE_ANSWERS


def test_a_conversation_prompt_holds_the_next_call_back() -> None:
    """A talk prompt without words: the model is not called; a permission prompt of no call holds nothing."""
    assert decide(turn(prompts=prompt(PromptKind.CONVERSATION))).move is Move.ANNOUNCE
    assert decide(turn(prompts=prompt(PromptKind.PERMISSION))).move is Move.CALL_MODEL


def test_a_prompt_that_is_gone_holds_nothing() -> None:
    """An entry that names a prompt which is no longer open is decided afresh."""
    asked = tool_entry(EffectState.PLANNED, FENCE - 1, prompt_id="gone")
    decision = decide(turn(model_entry(EffectState.COMPLETED, FENCE), asked, calls=(CALL,)))
    assert decision.move is Move.NEXT_TOOL


NEXT: list[tuple[dict[str, Any], NextTool]] = [
    ({}, NextTool.RUN),
    ({"tools": {}}, NextTool.REFUSED),
    ({"problems": {"t1": "no"}}, NextTool.REFUSED),
    ({"problems": {"t1": "no"}, "tools": {"act": tool(control=ControlKind.COMPLETE_TASK)}}, NextTool.REFUSED),
    ({"tools": {"act": tool(control=ControlKind.ASK_USER)}}, NextTool.ASK),
    ({"tools": {"act": tool(control=ControlKind.COMPLETE_TASK)}}, NextTool.CONTROL),
    ({"tools": {"act": tool(control=ControlKind.FAIL_TASK)}}, NextTool.CONTROL),
    ({"tools": {"act": tool(asks=True)}}, NextTool.ASK),
    ({"tools": {"act": tool(asks=True)}, "grants": {"act": "granted"}}, NextTool.RUN),
    ({"tools": {"act": tool(asks=True)}, "grants": {"act": "denied"}}, NextTool.DENIED),
    ({"tools": {"act": tool(asks=True)}, "grants": {"other": "granted"}}, NextTool.ASK),
    ({"tools": {"act": tool(asks=True)}, "spec": SPEC.model_copy(update={"allow": ("act",)})}, NextTool.RUN),
    ({"tools": {"act": tool(asks=True)}, "spec": SPEC.model_copy(update={"allow": ("*",)})}, NextTool.RUN),
    ({"tools": {"act": tool(asks=True)}, "spec": SPEC.model_copy(update={"allow": ("ac",)})}, NextTool.ASK),
]


@pytest.mark.parametrize(("more", "what"), NEXT)
def test_what_a_call_that_has_not_started_comes_to(more: dict[str, Any], what: NextTool) -> None:
    """Unknown and unfit calls are refused, controls are noted, side effects are asked about unless allowed."""
    assert decide(turn(model_entry(EffectState.COMPLETED, FENCE), calls=(CALL,), **more)).next_tool is what


@pytest.mark.parametrize(
    ("said", "granted", "what"),
    [
        (Permission.GRANTED, None, NextTool.RUN),
        (Permission.DENIED, None, NextTool.DENIED),
        (Permission.DENIED, "granted", NextTool.DENIED),
        (Permission.GRANTED, "denied", NextTool.RUN),
    ],
)
def test_what_was_said_about_this_call_goes_before_what_is_remembered(
    said: Permission, granted: str | None, what: NextTool
) -> None:
    """An answer to this very call wins over always and never."""
    entry = tool_entry(EffectState.PLANNED, permission=said)
    state = turn(
        model_entry(EffectState.COMPLETED, FENCE), entry, calls=(CALL,), tools={"act": tool(asks=True)},
        grants={"act": granted} if granted else {},
    )  # fmt: skip
    assert decide(state).next_tool is what


def test_a_catastrophic_command_is_blocked_whatever_was_allowed() -> None:
    """K30: neither the task nor a person's always lets one through; only the text is looked at here."""
    call = ToolCall(tool_use_id="t1", name="act", params={"command": "rm -rf /"})
    state = turn(
        model_entry(EffectState.COMPLETED, FENCE), calls=(call,), tools={"act": tool(asks=True)},
        grants={"act": "granted"}, spec=SPEC.model_copy(update={"allow": ("*",)}),
    )  # fmt: skip
    assert decide(state) == Decision(Move.NEXT_TOOL, call, None, NextTool.BLOCKED)


def test_the_printed_matrix_has_a_line_a_shape() -> None:
    """What the documents show names every shape once, and `same` only where both origins agree."""
    lines = matrix_markdown().splitlines()[2:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == [shape.value for shape in Shape]
    for shape, line in zip(Shape, lines, strict=True):
        assert line.endswith("| same |") is (MATRIX[shape, Origin.OWN] is MATRIX[shape, Origin.INHERITED])
