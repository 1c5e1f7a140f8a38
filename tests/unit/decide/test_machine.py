"""The one table of moves: every row is reached by a state, and by no other state than the one it names; and the actions
by which they are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

import pytest

from neuraphage.decide.actions import (
    Action,
    AskDetached,
    AskGuards,
    AskHosts,
    AskPeople,
    AskReply,
    AskWhatHappened,
    Attach,
    AttachReply,
    CallModel,
    Foresee,
    GiveBack,
    LookAfter,
    LookAtSeal,
    PutBack,
    Record,
    RunTool,
    TakeAnswers,
    VoidApproval,
    WaitForRate,
    WaitUntil,
)
from neuraphage.decide.answers import MOST_REMEMBERED
from neuraphage.decide.begun_call import Finding, Found
from neuraphage.decide.capacity_actions import AskCapacity, WaitForCapacity
from neuraphage.decide.context_bounds import ContextBounds
from neuraphage.decide.conversation import CONTINUE_TEXT
from neuraphage.decide.end_actions import Complete, Fail, NextTurn, PauseFor, Rest, StopAtLimit
from neuraphage.decide.machine import decide, move_of
from neuraphage.decide.matrix import MATRIX, STARTED_SHAPES, Move, Origin, Shape, matrix_markdown
from neuraphage.decide.money_actions import WaitForMoney
from neuraphage.decide.next_call import DESTRUCTIVE
from neuraphage.decide.policy import NEVER_RUNS
from neuraphage.decide.rules.reading import read_rule
from neuraphage.decide.snapshot import Bounds, Snapshot, Stop
from neuraphage.model.anomaly import Anomaly, AnomalyKind, AnomalyRule, OnAnomaly
from neuraphage.model.capacity import Capacity, CapacityReason
from neuraphage.model.compaction import Compaction, Shortening
from neuraphage.model.dependency import DependencyState
from neuraphage.model.effect import (
    SUMMARY_ENTRY,
    TOOL_CLASSES,
    EffectClass,
    EffectState,
    JournalEntry,
    Marker,
    MarkerName,
    ModelEffect,
    Permission,
    ToolEffect,
)
from neuraphage.model.hook import HookPoint
from neuraphage.model.limits import Limits
from neuraphage.model.money import Shortage
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.rule import Rule, RuleSource
from neuraphage.model.sandbox import HostReach
from neuraphage.model.subtask import Child
from neuraphage.model.task import Mode, OnUnknownOutcome, Status, TaskRecord, TaskSpec
from neuraphage.model.tool import ControlKind, ToolCall, ToolDeclaration, ToolResult
from neuraphage.model.tool_traits import RatedKind, ToolTraits
from neuraphage.model.usage import Counters
from neuraphage.shell import ShfmtReader

NOW_MS = 1_000
FENCE = 7
FENCES = {Origin.OWN: FENCE, Origin.INHERITED: FENCE - 1}
SPEC = TaskSpec(task_id="task-00000000-0000-7000-8000-000000000001", name="n", prompt="p", model="m")
CALL = ToolCall(tool_use_id="t1", name="act", params={})
DONE = ToolResult(text="done")
LONG_WORDS = {"role": "user", "content": [{"type": "text", "text": "x" * 3_000}]}
CONTEXT = ContextBounds(2_000, 1_000, 500, 100, 4)
PLAN = Compaction(how=Shortening.SUMMARY, first=1, to=3, results_to=3, thoughts_to=3)
BOUNDS = Bounds(max_continues=2, max_empty_replies=1)
HELD = Capacity(is_admitted=False, why=CapacityReason.OVERLOADED, due_ms=NOW_MS + 7, until_ms=NOW_MS + 5)


def record(**more: Any) -> TaskRecord:
    spec = more.pop("spec", {})
    return TaskRecord.model_construct(
        spec=SPEC.model_copy(update=spec),
        status=Status.RUNNING,
        marker=Marker(name=MarkerName.TASK_CREATED),
        counters=Counters(),
        limits=Limits(max_turns=5, max_cost_microusd=100),
        turns_from=0,
        unsafe_until_ms=0,
        **more,
    )


def tool(name: str = "act", *, asks: bool = False, control: ControlKind | None = None) -> ToolDeclaration:
    return ToolDeclaration(
        name=name, description="", input_schema={}, effect_class=EffectClass.PURE, side_effecting=asks,
        timeout_s=1.0, control=control,
    )  # fmt: skip


def of_class(effect_class: EffectClass) -> ToolDeclaration:
    return tool().model_copy(update={"effect_class": effect_class})


def model_entry(state: EffectState, fence: int, **more: Any) -> JournalEntry:
    return ModelEffect(state=state, fence=fence, **more)


def tool_entry(state: EffectState, fence: int = FENCE, key: str = "t1", **more: Any) -> JournalEntry:
    return ToolEffect(key=key, state=state, fence=fence, **more)


def turn(*entries: JournalEntry, **more: Any) -> Snapshot:
    """A snapshot; `spec` and `record` are what differs in them."""
    fields: dict[str, Any] = {
        "record": record(spec=more.pop("spec", {})).model_copy(update=more.pop("record", {})), "entries": [],
        "fence": FENCE, "journal": {e.key: e for e in entries}, "calls": (), "tools": {"act": tool()}, "problems": {},
        "grants": {}, "prompts": {}, "answered": frozenset(), "now_ms": NOW_MS, "bounds": BOUNDS,
    }  # fmt: skip
    return Snapshot(**{**fields, **more})


def replied(*blocks: dict[str, Any], stop: str = "end_turn", **more: Any) -> Snapshot:
    """A turn whose reply is there, with all of its calls settled."""
    entries = [
        {"role": "user", "content": []},
        {"role": "assistant", "turn": 0, "stop_reason": stop, "content": list(blocks)},
    ]
    return turn(model_entry(EffectState.COMPLETED, FENCE, stop_reason=stop), entries=entries, **more)


def watched(action: OnAnomaly, **more: Any) -> Snapshot:
    """A turn that goes on, and has cost more tokens than it should."""
    rules = {AnomalyKind.TURN_TOKENS: AnomalyRule(action=action, limit=9)}
    reply = {"role": "assistant", "turn": 0, "stop_reason": "max_tokens", "content": [WORDS], "tokens": 10}
    ended = model_entry(EffectState.COMPLETED, FENCE, stop_reason="max_tokens")
    return turn(ended, entries=[reply], bounds=dataclasses.replace(BOUNDS, anomalies=rules), **more)


def test_what_is_seen_at_the_end_of_a_turn_is_warned_of_paused_or_failed() -> None:
    """By its rule; a message that waits is heard first, and what ends the task anyway is only told."""
    seen = Anomaly(kind=AnomalyKind.TURN_TOKENS, reading=10, limit=9)
    assert decide(watched(OnAnomaly.WARN)) == NextTurn(CONTINUE_TEXT, seen=(seen,))
    paused = decide(watched(OnAnomaly.PAUSE))
    assert isinstance(paused, PauseFor)
    assert (paused.anomaly, paused.seen) == (seen, (seen,))
    failed = decide(watched(OnAnomaly.FAIL))
    assert isinstance(failed, Fail)
    assert (failed.recoverable, failed.seen, failed.remarks) == (True, (seen,), paused.remarks)
    assert failed.error.startswith("One turn has cost 10 tokens (limit 9, turn_tokens).")
    for action in (OnAnomaly.PAUSE, OnAnomaly.FAIL):
        assert decide(watched(action, is_spoken_to=True)) == NextTurn(CONTINUE_TEXT, seen=(seen,))
    completed = dataclasses.replace(watched(OnAnomaly.FAIL), journal=replied(WORDS).journal)
    assert decide(completed) == Complete("All is done.", seen=(seen,))


def prompt(kind: PromptKind = PromptKind.PERMISSION) -> Mapping[str, Prompt]:
    return {"p1": Prompt(prompt_id="p1", kind=kind, text="?")}


def state_of(shape: Shape, origin: Origin) -> Snapshot:
    """A state of this shape."""
    fence = FENCES[origin]
    replied = model_entry(EffectState.COMPLETED, fence, stop_reason="end_turn")
    started = {kept: cls for cls, kept in STARTED_SHAPES.items() if cls in TOOL_CLASSES}
    if shape in started:
        return turn(replied, tool_entry(EffectState.STARTED, fence, effect_class=started[shape]), calls=(CALL,))
    match shape:
        case Shape.EMPTY:
            return turn()
        case Shape.STARTED_BILLED:
            return turn(model_entry(EffectState.STARTED, fence))
        case Shape.CALL_WAITING:
            return turn(model_entry(EffectState.FAILED, fence, retry_at_ms=NOW_MS + 1))
        case Shape.CALL_DUE:
            return turn(model_entry(EffectState.FAILED, fence, retry_at_ms=NOW_MS))
        case Shape.CALL_DUE_BEGUN:
            return turn(model_entry(EffectState.FAILED, fence, retry_at_ms=NOW_MS, reply_begun=True))
        case Shape.CALL_OVER:
            return turn(model_entry(EffectState.FAILED, fence))
        case Shape.SUMMARY_OVER:
            return turn(model_entry(EffectState.FAILED, fence, key=SUMMARY_ENTRY, plan=PLAN.model_dump()))
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
        case Shape.HOSTS_REFUSED:
            return turn(replied, refused_entry(fence), calls=(CALL,), asks_hosts=True)
        case Shape.CHILDREN_OPEN | Shape.CHILDREN_OVER:
            is_open = shape is Shape.CHILDREN_OPEN
            child = Child(task_id="c1", state=DependencyState.OPEN if is_open else DependencyState.COMPLETED)
            begun = tool_entry(EffectState.STARTED, fence, children=("c1",))
            return turn(replied, begun, calls=(CALL,), record={"children": (child,)})
        case _:
            return turn(replied, tool_entry(EffectState.COMPLETED, fence), calls=(CALL,))


def spawns() -> Snapshot:
    """A reply that makes a child, which a rule of the task allows."""
    spawn = ToolDeclaration(
        name=CALL.name,
        description="",
        input_schema={},
        effect_class=EffectClass.PURE,
        side_effecting=True,
        timeout_s=1,
        control=ControlKind.SPAWN_TASK,
    )
    replied = model_entry(EffectState.COMPLETED, FENCE, stop_reason="tool_use")
    return turn(replied, calls=(CALL,), tools={CALL.name: spawn}, spec={"allow": ("*",)})


def refused_entry(fence: int = FENCE) -> JournalEntry:
    """A call that is over, whose command was refused a host."""
    return tool_entry(EffectState.COMPLETED, fence, refused=("a.org:443",))


@pytest.mark.parametrize(
    "more",
    [
        {"asks_hosts": False},
        {"reach": HostReach(("a.org",))},
        {"reach": HostReach(denied=("*.org",))},
        {"grants": {"host: a.org:443": "denied"}},
        {"grants": {f"host: h{number}.org:443": "granted" for number in range(MOST_REMEMBERED)}},
    ],
)
def test_a_host_is_asked_about_only_where_nobody_has_decided(more: dict[str, Any]) -> None:
    """By a rule or an answer; and none that the task could not remember."""
    replied = model_entry(EffectState.COMPLETED, FENCE, stop_reason="end_turn")
    assert move_of(turn(replied, refused_entry(), calls=(CALL,), **{"asks_hosts": True, **more}))[0] is Move.END_TURN
    assert decide(turn(replied, refused_entry(), calls=(CALL,), asks_hosts=True)) == AskHosts(CALL, ("a.org:443",))


def test_a_turn_waits_for_what_is_asked_about_a_host() -> None:
    """The call is over, and its prompt is open."""
    asked = Prompt(prompt_id="p1", kind=PromptKind.PERMISSION, text="?", tool="host: a.org:443", tool_use_id="t1")
    replied = model_entry(EffectState.COMPLETED, FENCE, stop_reason="end_turn")
    snapshot = turn(replied, refused_entry(), calls=(CALL,), prompts={"p1": asked}, asks_hosts=True)
    assert move_of(snapshot)[0] is Move.ANNOUNCE


@pytest.mark.parametrize("effect_class", TOOL_CLASSES)
@pytest.mark.parametrize("version", [None, "1", "2"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_begun_call_meets_the_tool_that_began_it(
    effect_class: EffectClass, version: str | None, is_there: bool
) -> None:
    """A pure call may always be made again; any other one by the same version of the tool alone."""
    begun = tool_entry(EffectState.STARTED, FENCE - 1, effect_class=effect_class, version=version)
    more = {} if is_there else {"tools": {}, "problems": {"t1": "gone"}}
    snapshot = turn(model_entry(EffectState.COMPLETED, FENCE - 1), begun, calls=(CALL,), **more)
    move, _, call = move_of(snapshot)
    assert call == CALL
    if effect_class is EffectClass.PURE:
        assert move is (Move.RUN_AGAIN if is_there else Move.NEXT_TOOL)
        assert is_there or decide(snapshot) == refused("gone")
    elif is_there and version != "2":
        assert move is MATRIX[STARTED_SHAPES[effect_class], Origin.INHERITED]
    else:
        assert move is Move.LEAVE_UNKNOWN
        told = decide(snapshot)
        assert isinstance(told, Record)
        assert told.result.unknown_outcome
        assert ("it is version 1 now" if is_there else "The tool is gone since. gone") in told.result.text


@pytest.mark.parametrize(("shape", "origin"), list(MATRIX))
def test_every_row_is_reached(shape: Shape, origin: Origin) -> None:
    """The move of each row, and what it is about, come from a journal of that shape."""
    move, _, call = move_of(state_of(shape, origin))
    assert move is MATRIX[shape, origin]
    if shape in {STARTED_SHAPES[cls] for cls in TOOL_CLASSES} | {Shape.TOOL_NEXT}:
        assert call == CALL


def test_the_table_is_whole() -> None:
    """Every shape has a row for both origins, and every started class its own shape."""
    assert set(MATRIX) == {(shape, origin) for shape in Shape for origin in Origin}
    assert set(STARTED_SHAPES) == set(EffectClass)
    assert set(MATRIX.values()) == set(Move)


def test_the_table_says_what_the_design_says() -> None:
    """The safety rows by hand: nothing inherited is taken for an outcome, nothing opaque is simply run again."""
    inherited = {shape: MATRIX[shape, Origin.INHERITED] for shape in Shape}
    assert inherited[Shape.STARTED_BILLED] is Move.ASK_REPLY
    assert inherited[Shape.STARTED_PURE] is Move.RUN_AGAIN
    assert inherited[Shape.STARTED_KEYED] is Move.RUN_AGAIN_KEYED
    assert inherited[Shape.STARTED_CHECKABLE] is Move.PROBE
    assert inherited[Shape.STARTED_OPAQUE] is Move.ASK
    assert Move.USE_OUTCOME not in inherited.values()


def test_a_started_call_of_no_known_class_counts_as_opaque() -> None:
    """A journal of an older release without a class gets the most careful row."""
    state = turn(model_entry(EffectState.COMPLETED, FENCE), tool_entry(EffectState.STARTED, FENCE - 1), calls=(CALL,))
    assert move_of(state)[0] is Move.ASK


def test_calls_are_taken_in_the_order_of_the_reply() -> None:
    """The first call without a result is next, whatever the journal's order."""
    calls = tuple(ToolCall(tool_use_id=f"t{n}", name="act", params={}) for n in range(3))
    done = [tool_entry(EffectState.COMPLETED, key=key) for key in ("t2", "t0")]
    assert decide(turn(model_entry(EffectState.COMPLETED, FENCE), *done, calls=calls)) == RunTool(calls[1])


def test_an_answer_goes_before_everything() -> None:
    """What people said is read first, also when a call is open or nothing has begun."""
    state = turn(model_entry(EffectState.STARTED, FENCE - 1), prompts=prompt(), answered=frozenset({"p1"}))
    assert decide(state) == TakeAnswers()


def test_a_conversation_prompt_holds_the_next_call_back() -> None:
    """A talk prompt without words: the model is not called; a permission prompt of no call holds nothing."""
    assert decide(turn(prompts=prompt(PromptKind.CONVERSATION))) == AskPeople()
    assert decide(turn(prompts=prompt(PromptKind.PERMISSION))) == CallModel()


def test_a_prompt_that_is_gone_holds_nothing() -> None:
    """An entry that names a prompt which is no longer open is decided afresh."""
    asked = tool_entry(EffectState.PLANNED, FENCE - 1, prompt_id="gone")
    assert decide(turn(model_entry(EffectState.COMPLETED, FENCE), asked, calls=(CALL,))) == RunTool(CALL)


def refused(text: str, call: ToolCall = CALL, by: tuple[Rule, ...] = ()) -> Record:
    return Record(call, ToolResult(text=text, is_error=True), by)


def run_by(text: str, source: RuleSource = RuleSource.TASK, call: ToolCall = CALL) -> RunTool:
    return RunTool(call, allowed_by=(read_rule(text, source),))


ASKS = {"tools": {"act": tool(asks=True)}}
SAID_NO = "A person has said before that act may never run in this task. This call was not run."
NEXT: list[tuple[dict[str, Any], Action]] = [
    ({}, RunTool(CALL)),
    ({"tools": {}, "problems": {"t1": "none"}}, refused("none")),
    ({"tools": {}}, refused("There is no tool 'act'.")),
    ({"problems": {"t1": "no"}}, refused("no")),
    ({"problems": {"t1": "no"}, "tools": {"act": tool(control=ControlKind.COMPLETE_TASK)}}, refused("no")),
    ({"tools": {"act": tool(control=ControlKind.ASK_USER)}}, AskPeople((CALL,))),
    ({"tools": {"act": tool(control=ControlKind.COMPLETE_TASK)}}, Record(CALL, ToolResult(text="Noted."))),
    ({"tools": {"act": tool(control=ControlKind.FAIL_TASK)}}, Record(CALL, ToolResult(text="Noted."))),
    ({"guards": frozenset({HookPoint.PRE_TOOL_USE})}, AskGuards(CALL, HookPoint.PRE_TOOL_USE)),
    (ASKS | {"guards": frozenset({HookPoint.PRE_TOOL_USE})}, AskGuards(CALL, HookPoint.PRE_TOOL_USE)),
    ({"guards": frozenset({HookPoint.PRE_USER_PROMPT})}, RunTool(CALL)),
    (ASKS, Foresee(CALL)),
    (ASKS | {"foreseen": {"t1": None}}, AskPeople((CALL,))),
    (ASKS | {"foreseen": {"t1": "it would fail"}}, refused("it would fail")),
    (ASKS | {"grants": {"act": "granted"}}, run_by("allow act", RuleSource.ANSWER)),
    (ASKS | {"grants": {"act": "denied"}}, refused(SAID_NO, by=(read_rule("deny act", RuleSource.ANSWER),))),
    (ASKS | {"grants": {"other": "granted"}}, Foresee(CALL)),
    (ASKS | {"spec": {"allow": ("act",)}}, run_by("allow act")),
    (ASKS | {"spec": {"allow": ("*",)}}, run_by("allow *")),
    (ASKS | {"spec": {"allow": ("ac",)}}, Foresee(CALL)),
    (
        {"tools": {"act": of_class(EffectClass.OPAQUE)}, "record": {"unsafe_until_ms": NOW_MS + 1}},
        WaitUntil(NOW_MS + 1),
    ),
    (
        {"tools": {"act": of_class(EffectClass.CHECKABLE)}, "record": {"unsafe_until_ms": NOW_MS + 1}},
        WaitUntil(NOW_MS + 1),
    ),
    ({"tools": {"act": of_class(EffectClass.KEYED)}, "record": {"unsafe_until_ms": NOW_MS + 1}}, RunTool(CALL)),
    ({"tools": {"act": of_class(EffectClass.OPAQUE)}, "record": {"unsafe_until_ms": NOW_MS}}, RunTool(CALL)),
]


@pytest.mark.parametrize(("more", "action"), NEXT)
def test_what_a_call_that_has_not_started_comes_to(more: dict[str, Any], action: Action) -> None:
    """Unknown and unfit calls are refused, controls are noted, side effects are asked about unless allowed."""
    assert decide(turn(model_entry(EffectState.COMPLETED, FENCE), calls=(CALL,), **more)) == action


def test_every_call_that_needs_a_person_is_asked_about_at_once() -> None:
    """Not one that is allowed, settled, refused, or asked about already."""
    names = ["ask", "ask", "free", "ask", "bad", "question", "ask"]
    calls = tuple(ToolCall(tool_use_id=f"t{n}", name=name, params={}) for n, name in enumerate(names))
    tools = {
        "ask": tool("ask", asks=True),
        "free": tool("free"),
        "bad": tool("bad", asks=True),
        "question": tool("question", control=ControlKind.ASK_USER),
    }
    snapshot = turn(
        model_entry(EffectState.COMPLETED, FENCE),
        tool_entry(EffectState.COMPLETED, key="t0"),
        tool_entry(EffectState.PLANNED, key="t3", prompt_id="p1"),
        tool_entry(EffectState.PLANNED, key="t6", prompt_id="gone"),
        calls=calls, tools=tools, prompts=prompt(), problems={"t4": "no"}, foreseen={"t1": None},
    )  # fmt: skip
    assert decide(snapshot) == AskPeople((calls[1], calls[5], calls[6]))


@pytest.mark.parametrize(
    ("said", "granted", "is_run"),
    [
        (Permission.GRANTED, None, True),
        (Permission.DENIED, None, False),
        (Permission.DENIED, "granted", False),
        (Permission.GRANTED, "denied", True),
    ],
)
def test_what_was_said_about_this_call_goes_before_what_is_remembered(
    said: Permission, granted: str | None, is_run: bool
) -> None:
    """An answer to this very call wins over always and never."""
    entry = tool_entry(EffectState.PLANNED, permission=said)
    state = turn(
        model_entry(EffectState.COMPLETED, FENCE), entry, calls=(CALL,), tools={"act": tool(asks=True)},
        grants={"act": granted} if granted else {},
    )  # fmt: skip
    no = "A person did not allow this act call. It was not run. Do not try it again unchanged."
    assert decide(state) == (RunTool(CALL) if is_run else refused(no))


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("parameter", ["line", "command"])
def test_a_catastrophic_command_is_blocked_whatever_was_allowed(parameter: str, asks: bool) -> None:
    """Neither the task nor a person's always lets one through, whichever parameter the traits name as a command line.

    Only the text is looked at here.
    """
    means = ToolTraits(command=parameter)
    call = ToolCall(tool_use_id="t1", name="act", params={"command": "ls", parameter: "rm -rf /"})
    assert decide(about_to_run(call, means, asks=asks)) == refused(DESTRUCTIVE, call, (NEVER_RUNS,))


def about_to_run(call: ToolCall, means: ToolTraits, *, asks: bool = True) -> Snapshot:
    """A turn whose call has every permission that there is."""
    declared = tool(asks=asks).model_copy(update={"traits": means})
    command = declared.command_of(call.params)
    return turn(
        model_entry(EffectState.COMPLETED, FENCE), calls=(call,), tools={"act": declared},
        grants={"act": "granted"}, spec={"allow": ("*",)}, lines={"t1": ShfmtReader().read(command or "")},
    )  # fmt: skip


@pytest.mark.parametrize("means", [ToolTraits(), ToolTraits(command="line")])
def test_a_text_that_is_no_command_line_is_none(means: ToolTraits) -> None:
    """Not by the name of its parameter: only the tool knows what a parameter means."""
    call = ToolCall(tool_use_id="t1", name="act", params={"command": "rm -rf /", "text": "rm -rf /", "line": "ls"})
    assert decide(about_to_run(call, means)) == run_by("allow *", call=call)


# --- calls of the model ---


def sent_before(found: Finding | None) -> Snapshot:
    """A call that a former lease had sent, and what came of it."""
    return dataclasses.replace(state_of(Shape.STARTED_BILLED, Origin.INHERITED), reply_found=found)


@pytest.mark.parametrize("found", [Finding.RUNNING, Finding.ENDED])
def test_a_reply_that_outlived_its_worker_is_read(found: Finding) -> None:
    """It is asked for first; and it is paid already, so no limit keeps it from being read."""
    assert decide(sent_before(None)) == AskReply()
    assert decide(sent_before(found)) == AttachReply()
    spent = sent_before(found).record.model_copy(update={"counters": Counters(cost_microusd=100)})
    assert decide(dataclasses.replace(sent_before(found), record=spent)) == AttachReply()


def test_a_repeated_call_may_be_billed_twice() -> None:
    """Where nobody knows of it, or its reply had begun; a call that was refused costs nothing."""
    assert decide(sent_before(Finding.UNKNOWN)) == CallModel(may_be_billed=True)
    assert decide(state_of(Shape.CALL_DUE_BEGUN, Origin.INHERITED)) == CallModel(may_be_billed=True)
    assert decide(state_of(Shape.CALL_DUE, Origin.INHERITED)) == CallModel()


CALLING = (Shape.EMPTY, Shape.CALL_DUE, Shape.CALL_DUE_BEGUN, Shape.STARTED_BILLED)
SHORT = Shortage(pool="team=web", limit_microusd=1_000_000, used_microusd=900_000, reserved_microusd=60_000)
USED_UP = SHORT.model_copy(update={"used_microusd": 1_000_000})


def about_to_call(shape: Shape) -> Snapshot:
    """A call of the model is next; of one that was sent before, nobody knows."""
    return dataclasses.replace(state_of(shape, Origin.INHERITED), reply_found=Finding.UNKNOWN)


@pytest.mark.parametrize("shape", CALLING)
def test_no_call_is_made_without_room_in_a_pool(shape: Shape) -> None:
    """It waits while others hold the rest, and pauses the task, or by setting fails it, once nothing is left."""
    snapshot = about_to_call(shape)
    busy = dataclasses.replace(snapshot, shortage=SHORT)
    assert decide(busy) == WaitForMoney(SHORT, snapshot.now_ms + BOUNDS.pool_wait_ms)
    over = dataclasses.replace(snapshot, shortage=USED_UP)
    assert decide(over) == WaitForMoney(USED_UP, snapshot.now_ms + BOUNDS.pool_wait_ms)
    fails = dataclasses.replace(BOUNDS, fails_at_pool=True)
    assert decide(dataclasses.replace(busy, bounds=fails)) == decide(busy)
    failed = decide(dataclasses.replace(over, bounds=fails))
    assert isinstance(failed, Fail)
    assert failed.recoverable
    assert "of $1, $1 is used and $0.06 is reserved" in failed.error


@pytest.mark.parametrize("shape", CALLING)
def test_no_call_is_made_without_a_price(shape: Shape) -> None:
    """Neither a first one nor a repeated one."""
    failed = decide(dataclasses.replace(about_to_call(shape), is_priced=False))
    assert isinstance(failed, Fail)
    assert failed.recoverable
    assert "prices = [" in failed.error


def test_only_a_lost_call_is_held_against_the_limit_of_recovery() -> None:
    """A call whose worker lived has told what it cost."""
    for shape in CALLING:
        snapshot = about_to_call(shape)
        spent = snapshot.record.model_copy(update={"counters": Counters(recovery_cost_microusd=7)})
        tight = dataclasses.replace(BOUNDS, max_recovery_cost_microusd=7)
        action = decide(dataclasses.replace(snapshot, record=spent, bounds=tight))
        assert isinstance(action, Fail if shape is Shape.STARTED_BILLED else CallModel)


@pytest.mark.parametrize("shape", [Shape.EMPTY, Shape.CALL_DUE, Shape.CALL_DUE_BEGUN, Shape.STARTED_BILLED])
def test_no_call_is_made_at_a_limit(shape: Shape) -> None:
    """Neither a first one nor a repeated one: each may cost."""
    snapshot = dataclasses.replace(state_of(shape, Origin.INHERITED), reply_found=Finding.UNKNOWN)
    spent = snapshot.record.model_copy(update={"counters": Counters(cost_microusd=100)})
    action = decide(dataclasses.replace(snapshot, record=spent))
    assert isinstance(action, StopAtLimit)
    assert "spent $0.0001, its limit is $0.0001" in action.error


def test_a_call_that_failed_for_good_fails_the_task() -> None:
    """With what the provider said; whether a retry may help depends on the fault."""

    def failed(fault: str) -> Action:
        entry = model_entry(EffectState.FAILED, FENCE, error="no", fault=fault, attempt=3)
        return decide(turn(entry))

    assert failed("network") == Fail("The model call failed for good after 3 calls (network): no", recoverable=True)
    assert failed("bad_request") == Fail(
        "The model call failed for good after 3 calls (bad_request): no", recoverable=False
    )


def test_a_failed_call_waits_for_its_time() -> None:
    """Its timer is a place of its own: no worker is held for it."""
    assert decide(state_of(Shape.CALL_WAITING, Origin.OWN)) == WaitUntil(NOW_MS + 1)


# --- calls that a former lease had begun ---


def begun(effect_class: EffectClass, **more: Any) -> Snapshot:
    entry = tool_entry(EffectState.STARTED, FENCE - 1, effect_class=effect_class, attempt=2)
    return turn(model_entry(EffectState.COMPLETED, FENCE - 1), entry, calls=(CALL,), **more)


def test_each_class_is_settled_in_its_way() -> None:
    """Judged anew, run again under the same key, looked after, or asked for; never sooner than its former owner may
    still act."""
    assert decide(begun(EffectClass.PURE)) == PutBack(CALL, attempt=2)
    assert decide(begun(EffectClass.KEYED)) == RunTool(CALL, attempt=2)
    assert decide(begun(EffectClass.CHECKABLE)) == LookAfter(CALL)
    assert decide(begun(EffectClass.CHECKABLE, record={"unsafe_until_ms": NOW_MS + 5})) == WaitUntil(NOW_MS + 5)
    assert decide(begun(EffectClass.OPAQUE)) == AskDetached(CALL)


def approved(**more: Any) -> Snapshot:
    """A call that a person has allowed, as it was shown to them."""
    entry = tool_entry(EffectState.PLANNED, FENCE, permission=Permission.GRANTED, permission_by="user", digest="seal")
    replied = model_entry(EffectState.COMPLETED, FENCE, stop_reason="end_turn")
    return turn(replied, entry, calls=(CALL,), tools={"act": tool(asks=True)}, **more)


def test_what_was_allowed_runs_as_it_was_shown() -> None:
    """It is looked at first; what differs makes the yes void. Nothing is looked at while a former owner may write."""
    assert decide(approved()) == LookAtSeal(CALL)
    assert decide(approved(seals={"t1": "seal"})) == RunTool(CALL)
    assert decide(approved(seals={"t1": "other"})) == VoidApproval(CALL)
    waits = approved(record={"unsafe_until_ms": NOW_MS + 1})
    assert decide(dataclasses.replace(waits, tools={"act": of_class(EffectClass.OPAQUE)})) == WaitUntil(NOW_MS + 1)


def over_its_rate(**more: Any) -> Snapshot:
    """A call that may run, of a task that has begun one of its kind a millisecond ago; one a minute may."""
    bounds = dataclasses.replace(BOUNDS, per_minute={RatedKind.WRITES: 1})
    writes = {"act": tool(asks=True).model_copy(update={"traits": ToolTraits(writes=("path",))})}
    entries = [{"role": "user", "content": [], "began": ["writes", NOW_MS - 1]}]
    return dataclasses.replace(approved(**more), bounds=bounds, tools=writes, entries=entries)


def test_over_its_rate_a_call_waits_before_its_approval_is_looked_at() -> None:
    """So that nothing can change between that look and the run; a former owner is waited for first."""
    assert decide(over_its_rate()) == WaitForRate(CALL, RatedKind.WRITES, 1, NOW_MS - 1 + 60_000)
    assert decide(dataclasses.replace(over_its_rate(), now_ms=NOW_MS - 1 + 60_000)) == LookAtSeal(CALL)
    unlimited = dataclasses.replace(over_its_rate(), bounds=BOUNDS)
    assert decide(unlimited) == LookAtSeal(CALL)


@pytest.mark.parametrize(
    "entries",
    [
        (),
        (model_entry(EffectState.PLANNED, FENCE, awaits=(CapacityReason.OVERLOADED, 5)),),
        (model_entry(EffectState.STARTED, FENCE - 1),),
        (model_entry(EffectState.FAILED, FENCE, retry_at_ms=NOW_MS - 1),),
    ],
    ids=["first", "planned", "interrupted", "failed"],
)
def test_before_each_call_of_a_model_that_may_take_none_it_is_asked(entries: tuple[JournalEntry, ...]) -> None:
    """Whatever call it is; who is admitted calls, who is not waits until then. A limit of the task goes first."""
    asks = {"asks_capacity": True, "reply_found": Finding.UNKNOWN}
    assert decide(turn(*entries, **asks)) == AskCapacity()
    held = turn(*entries, **asks, capacity=HELD)
    assert decide(held) == WaitForCapacity(NOW_MS + 7, CapacityReason.OVERLOADED, NOW_MS + 5)
    admitted = turn(*entries, **asks, capacity=Capacity(is_admitted=True))
    assert isinstance(decide(admitted), CallModel)
    assert isinstance(decide(turn(*entries, reply_found=Finding.UNKNOWN)), CallModel)
    at_limit = turn(*entries, **asks, record={"limits": Limits(max_turns=0)})
    assert isinstance(decide(at_limit), StopAtLimit)


@pytest.mark.parametrize("effect_class", [EffectClass.CHECKABLE, EffectClass.OPAQUE])
def test_what_stays_unknown_is_told_or_asked(effect_class: EffectClass) -> None:
    """As the task wants it: the model is told, or a person says."""
    known = ToolResult(text="nobody knows", is_error=True, unknown_outcome=True)
    facts: dict[str, Any] = {"found": {"t1": Found(Finding.UNKNOWN, known)}}
    assert decide(begun(effect_class, **facts)) == Record(CALL, known)
    asks = {"on_unknown_outcome": OnUnknownOutcome.ASK_USER}
    assert decide(begun(effect_class, **facts, spec=asks)) == AskWhatHappened(CALL, known)
    attached = tool_entry(EffectState.STARTED, FENCE, effect_class=effect_class)
    own = turn(model_entry(EffectState.COMPLETED, FENCE), attached, calls=(CALL,), **facts)
    assert decide(own) == Record(CALL, known), "it was attached to under this lease, and its record cannot be read"


@pytest.mark.parametrize("effect_class", [EffectClass.CHECKABLE, EffectClass.OPAQUE])
@pytest.mark.parametrize(
    ("found", "action"),
    [
        (Found(Finding.ENDED, DONE), Record(CALL, DONE)),
        (Found(Finding.NOT_DONE), PutBack(CALL, 2, keeps_evidence=True)),
        (Found(Finding.SEALED), PutBack(CALL, 3)),
        (Found(Finding.RUNNING), Attach(CALL)),
    ],
)
def test_what_was_found_out_is_acted_on(effect_class: EffectClass, found: Found, action: Action) -> None:
    """Recorded, judged anew with its id and its evidence or under a new id, or waited for."""
    entry = tool_entry(EffectState.STARTED, FENCE - 1, effect_class=effect_class, attempt=2, evidence={"before": 1})
    state = turn(model_entry(EffectState.COMPLETED, FENCE - 1), entry, calls=(CALL,), found={"t1": found})
    assert decide(state) == action


@pytest.mark.parametrize("finding", [Finding.ENDED, Finding.UNKNOWN])
def test_a_finding_without_its_result_is_a_bug(finding: Finding) -> None:
    """Nothing is recorded that nobody has said."""
    with pytest.raises(AssertionError, match="needs a result"):
        decide(begun(EffectClass.OPAQUE, found={"t1": Found(finding)}))


# --- ends ---

WORDS = {"type": "text", "text": "All is done."}


def test_a_natural_end_completes_or_rests() -> None:
    """An autonomous task is done; in a conversation it is the person's turn."""
    assert decide(replied(WORDS)) == Complete("All is done.")
    assert decide(replied(WORDS, spec={"mode": Mode.CONVERSATIONAL})) == Rest("All is done.")


def test_other_ends_go_on_or_fail() -> None:
    """Cut replies go on, empty ones are asked again, both within bounds; a refusal fails, and a retry asks anew."""
    cut, empty, no = (
        decide(replied(WORDS, stop="max_tokens")),
        decide(replied()),
        decide(replied(WORDS, stop="refusal")),
    )
    assert isinstance(cut, NextTurn)
    assert cut.say
    assert isinstance(empty, NextTurn)
    assert "empty" in (empty.say or "")
    assert decide(replied(WORDS, stop="pause_turn")) == NextTurn()
    assert isinstance(no, Fail)
    assert (no.recoverable, no.reply) == (True, True)


@pytest.mark.parametrize(
    ("stop", "blocks", "allowed"),
    [("max_tokens", [WORDS], BOUNDS.max_continues), ("end_turn", [], BOUNDS.max_empty_replies)],
)
def test_replies_without_an_end_are_bounded(stop: str, blocks: list[dict[str, Any]], allowed: int) -> None:
    """One more than allowed in a row fails the task."""

    def after(count: int) -> Action:
        replies = [{"role": "assistant", "turn": n, "stop_reason": stop, "content": blocks} for n in range(count)]
        counters = Counters(iteration=count - 1)
        entry = model_entry(EffectState.COMPLETED, FENCE, stop_reason=stop)
        return decide(turn(entry, entries=replies, record={"counters": counters}))

    assert isinstance(after(allowed), NextTurn)
    assert isinstance(after(allowed + 1), Fail)


def test_a_control_call_ends_the_task() -> None:
    """With its own words, once it was noted."""
    for kind, params, end in (
        (ControlKind.COMPLETE_TASK, {"summary": "s"}, Complete("s")),
        (ControlKind.FAIL_TASK, {"reason": "r"}, Fail("r", recoverable=True)),
    ):
        call = ToolCall(tool_use_id="t1", name="act", params=params)
        snapshot = turn(
            model_entry(EffectState.COMPLETED, FENCE, stop_reason="tool_use"), tool_entry(EffectState.COMPLETED),
            calls=(call,), tools={"act": tool(control=kind)},
        )  # fmt: skip
        assert decide(snapshot) == end


@pytest.mark.parametrize("why", Stop)
@pytest.mark.parametrize("shape", Shape)
def test_a_turn_that_is_stopped_gives_its_lease_back(shape: Shape, why: Stop) -> None:
    """Whatever the journal holds: no shape of it is a reason for one more step."""
    assert decide(dataclasses.replace(state_of(shape, Origin.OWN), stop=why)) == GiveBack(why)


def test_every_action_is_decided_somewhere() -> None:
    """The union has no member that nothing leads to."""
    known = ToolResult(text="?", is_error=True)
    asks = {"on_unknown_outcome": OnUnknownOutcome.ASK_USER}
    actions = [
        *(action for _, action in NEXT),
        *(decide(state_of(shape, Origin.INHERITED)) for shape in Shape),
        decide(replied(WORDS)),
        decide(replied()),
        decide(replied(WORDS, spec={"mode": Mode.CONVERSATIONAL})),
        decide(turn(record={"limits": Limits(max_turns=0)})),
        decide(begun(EffectClass.OPAQUE, found={"t1": Found(Finding.UNKNOWN, known)}, spec=asks)),
        decide(begun(EffectClass.OPAQUE, found={"t1": Found(Finding.RUNNING)})),
        decide(turn(stop=Stop.SHUTDOWN)),
        decide(approved()),
        decide(approved(seals={"t1": "other"})),
        decide(over_its_rate()),
        decide(sent_before(Finding.ENDED)),
        decide(turn(entries=[LONG_WORDS], context=CONTEXT, can_count=True)),
        decide(turn(asks_capacity=True)),
        decide(turn(asks_capacity=True, capacity=HELD)),
        decide(turn(shortage=SHORT)),
        decide(watched(OnAnomaly.PAUSE)),
        decide(spawns()),
    ]
    assert {type(action) for action in actions} == set(get_args(Action))


def test_the_printed_matrix_has_a_line_a_shape() -> None:
    """What the documents show names every shape once, and `same` only where both origins agree."""
    lines = matrix_markdown().splitlines()[2:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == [shape.value for shape in Shape]
    for shape, line in zip(Shape, lines, strict=True):
        assert line.endswith("| same |") is (MATRIX[shape, Origin.OWN] is MATRIX[shape, Origin.INHERITED])
