"""What comes of a call that has not started: it is run, asked about, or answered without being run. Pure."""

from __future__ import annotations

from neuraphage.decide.actions import (
    Action,
    AskGuards,
    AskPeople,
    Foresee,
    LookAtSeal,
    Record,
    RunTool,
    VoidApproval,
    WaitForRate,
    WaitUntil,
)
from neuraphage.decide.child_actions import AwaitChildren, Spawn, TakeChildren
from neuraphage.decide.children import is_open, taking
from neuraphage.decide.control import why_held_back
from neuraphage.decide.guarding import is_judged, result_by_guard
from neuraphage.decide.lock_needs import waited_too_long
from neuraphage.decide.policy import Ruled, Ruling, ruled, why_denied
from neuraphage.decide.rates import begins_at_ms
from neuraphage.decide.rules.judging import CalledTool, outside_rule
from neuraphage.decide.rules.reading import rules_of
from neuraphage.decide.snapshot import Snapshot
from neuraphage.model.effect import EffectClass, EffectState, tool_effect
from neuraphage.model.hook import HookPoint
from neuraphage.model.rule import Rule
from neuraphage.model.tool import ControlKind, ToolCall, ToolDeclaration, ToolResult

DESTRUCTIVE = "This command would destroy the machine or the home directory. It never runs here."
_MEETS_OTHERS = frozenset({EffectClass.CHECKABLE, EffectClass.OPAQUE})


def next_call(snapshot: Snapshot, call: ToolCall) -> Action:
    """The action about a call that has not started."""
    tool = snapshot.tools.get(call.name)
    problem = snapshot.problems.get(call.tool_use_id)
    if problem is not None or tool is None:
        return _refused(call, problem or f"There is no tool {call.name!r}.")
    judged = _by_guards(snapshot, call, tool)
    if judged is not None:
        return judged
    if tool.control is ControlKind.ASK_USER:
        return _ask_people(snapshot)
    if tool.control is ControlKind.WAIT_FOR_TASKS:
        return _awaited(snapshot, call)
    if tool.control is not None and tool.control is not ControlKind.SPAWN_TASK:
        held = why_held_back(call, snapshot.calls, snapshot.tools, snapshot.problems, snapshot.journal)
        return Record(call, ToolResult(text="Noted.")) if held is None else _refused(call, held)
    found = _ruled(snapshot, call, tool)
    match found.ruling:
        case Ruling.ALLOWED if tool.control is ControlKind.SPAWN_TASK:
            return _spawn(snapshot)
        case Ruling.ALLOWED:
            return _checked(snapshot, call, _run(snapshot, call, tool, found.rules))
        case Ruling.DENIED:
            return _refused(call, _why_denied(snapshot, call, found.rule), found.rules)
        case Ruling.BLOCKED:
            return _refused(call, DESTRUCTIVE, found.rules)
        case Ruling.ASK:
            return _asked(snapshot, call)


def _by_guards(snapshot: Snapshot, call: ToolCall, tool: ToolDeclaration) -> Action | None:
    """What guards have to say of a call, or that they are to be asked; None where it goes on.

    What they have said of it in this turn holds, also in a worker that has no guards.
    """
    point = HookPoint.PRE_USER_PROMPT if tool.control is ControlKind.ASK_USER else HookPoint.PRE_TOOL_USE
    if _is_unjudged(snapshot, call, point):
        return AskGuards(call, point)
    result = result_by_guard(call, tool_effect(snapshot.journal, call.tool_use_id))
    return None if result is None else Record(call, result)


def _run(snapshot: Snapshot, call: ToolCall, tool: ToolDeclaration, by: tuple[Rule, ...]) -> Action:
    """Run it; later where a former owner that was only seen absent may still act, and this call would meet its work, or
    where the task has begun as many calls of its kind as it may within a minute.

    What a person has allowed runs as it was shown to them, or it is judged anew.
    """
    unsafe_until_ms = snapshot.record.unsafe_until_ms
    entry = tool_effect(snapshot.journal, call.tool_use_id)
    is_late = entry is not None and entry.put_back  # what a former owner could still do about it was waited for
    if tool.effect_class in _MEETS_OTHERS and snapshot.now_ms < unsafe_until_ms and not is_late:
        return WaitUntil(unsafe_until_ms)
    late = waited_too_long(snapshot.record.locks, call.tool_use_id)
    if late is not None:
        return Record(call, late)
    held = _held(snapshot, call, tool)
    if held is not None:
        return held
    if entry is None:
        return RunTool(call, allowed_by=by)
    kept = entry.evidence if entry.put_back else None
    if entry.digest is None:
        return RunTool(call, entry.attempt, kept, allowed_by=by)
    now = snapshot.seals.get(call.tool_use_id)
    if now is None:
        return LookAtSeal(call)
    return RunTool(call, entry.attempt, kept) if now == entry.digest else VoidApproval(call)


def _spawn(snapshot: Snapshot) -> Action:
    """Make the children of all calls of the reply at once; what is to be known of one of them comes first."""
    ready = []
    for call in snapshot.calls:
        tool = snapshot.tools.get(call.name)
        is_spawn = tool is not None and tool.control is ControlKind.SPAWN_TASK
        if tool is None or not is_spawn or call.tool_use_id in snapshot.problems or not _is_untouched(snapshot, call):
            continue
        judged = _by_guards(snapshot, call, tool)
        if isinstance(judged, Record):
            continue
        if judged is not None:
            return judged
        found = _ruled(snapshot, call, tool)
        if found.ruling is Ruling.ASK:
            return _asked(snapshot, call)
        if found.ruling is Ruling.ALLOWED:
            action = _run(snapshot, call, tool, found.rules)
            if not isinstance(action, RunTool):
                return action
            ready.append((call, action.allowed_by))
    return Spawn(tuple(ready))


def _awaited(snapshot: Snapshot, call: ToolCall) -> AwaitChildren | TakeChildren | Record:
    """Wait for children that are there, or tell at once what came of them."""
    record = snapshot.record
    mine = tuple(child.task_id for child in record.children)
    wanted = tuple(dict.fromkeys(call.params.get("tasks") or mine))
    if not wanted:
        return _refused(call, "This task has made no subtasks, so there is nothing to wait for.")
    unknown = [task_id for task_id in wanted if task_id not in mine]
    if unknown:
        return _refused(
            call, f"Not made by this task: {', '.join(unknown[:5])}. It has made: {', '.join(mine) or 'none'}."
        )
    awaits_any = call.params.get("until") == "any"
    if is_open(record, wanted, awaits_any=awaits_any):
        return AwaitChildren(call, wanted, awaits_any)
    return taking(record, call, wanted)


def _held(snapshot: Snapshot, call: ToolCall, tool: ToolDeclaration) -> WaitForRate | None:
    """The wait of a call of which the task has begun as many of its kind as it may within a minute."""
    kind = tool.traits.rated
    most = None if kind is None else snapshot.bounds.per_minute.get(kind)
    if kind is None or most is None:
        return None
    due_ms = begins_at_ms(snapshot.entries, kind, most, snapshot.now_ms)
    return WaitForRate(call, kind, most, due_ms) if due_ms > snapshot.now_ms else None


def _asked(snapshot: Snapshot, call: ToolCall) -> Action:
    """Ask a person, but not for nothing: the tool is asked first whether the call can only fail."""
    if call.tool_use_id not in snapshot.foreseen:
        return Foresee(call)
    refusal = snapshot.foreseen[call.tool_use_id]
    if refusal is not None:
        return _refused(call, refusal)
    return _ask_people(snapshot)


def _ask_people(snapshot: Snapshot) -> Action:
    """Open prompts, of which guards are asked first: no person is asked about what a guard would block."""
    asked = _to_ask(snapshot)
    for call in asked if snapshot.guards else ():
        action = _by_guards(snapshot, call, snapshot.tools[call.name])
        if isinstance(action, AskGuards):
            return action
        is_question = snapshot.tools[call.name].control is not None
        if not is_question and _is_unjudged(snapshot, call, HookPoint.PERMISSION_REQUEST):
            return AskGuards(call, HookPoint.PERMISSION_REQUEST)
    return AskPeople(asked)


def _checked(snapshot: Snapshot, call: ToolCall, action: Action) -> Action:
    """The last look of guards at a call that would run now."""
    if isinstance(action, RunTool) and _is_unjudged(snapshot, call, HookPoint.SECURITY_POLICY_CHECK):
        return AskGuards(call, HookPoint.SECURITY_POLICY_CHECK, action.allowed_by)
    return action


def _is_unjudged(snapshot: Snapshot, call: ToolCall, point: HookPoint) -> bool:
    return point in snapshot.guards and not is_judged(call, tool_effect(snapshot.journal, call.tool_use_id), point)


def _to_ask(snapshot: Snapshot) -> tuple[ToolCall, ...]:
    """Every call that a person is to be asked about, so that they see all of them at once."""
    return tuple(call for call in snapshot.calls if _is_untouched(snapshot, call) and _needs_person(snapshot, call))


def _is_untouched(snapshot: Snapshot, call: ToolCall) -> bool:
    """Whether nothing was done about a call. The prompt that its entry names may be gone: it went when the task failed,
    and a person has retried it."""
    entry = tool_effect(snapshot.journal, call.tool_use_id)
    return entry is None or (entry.state is EffectState.PLANNED and entry.prompt_id not in snapshot.prompts)


def _needs_person(snapshot: Snapshot, call: ToolCall) -> bool:
    tool = snapshot.tools.get(call.name)
    if tool is None or call.tool_use_id in snapshot.problems:
        return False
    if isinstance(_by_guards(snapshot, call, tool), Record):
        return False
    if tool.control is not None and tool.control is not ControlKind.SPAWN_TASK:
        return tool.control is ControlKind.ASK_USER
    return _ruled(snapshot, call, tool).ruling is Ruling.ASK


def is_forbidden(snapshot: Snapshot, call: ToolCall) -> bool:
    """Whether a call never runs, by the rules as they are now."""
    tool = snapshot.tools.get(call.name)
    return tool is not None and _ruled(snapshot, call, tool).ruling in {Ruling.DENIED, Ruling.BLOCKED}


def runs_outside(snapshot: Snapshot, call: ToolCall) -> bool:
    """Whether a rule lets the command line of a call run outside of the sandbox that its tool has."""
    tool = snapshot.tools.get(call.name)
    if tool is None or not tool.sandbox:
        return False
    return outside_rule(_called(snapshot, call, tool), _rules(snapshot)) is not None


def _ruled(snapshot: Snapshot, call: ToolCall, tool: ToolDeclaration) -> Ruled:
    entry = tool_effect(snapshot.journal, call.tool_use_id)
    decided = entry.permission if entry is not None else None
    return ruled(_called(snapshot, call, tool), _rules(snapshot), snapshot.grants, decided)


def _rules(snapshot: Snapshot) -> tuple[Rule, ...]:
    return (*snapshot.rules, *rules_of(snapshot.record.spec.allow))


def _called(snapshot: Snapshot, call: ToolCall, tool: ToolDeclaration) -> CalledTool:
    return CalledTool(
        tool,
        call.params,
        snapshot.lines.get(call.tool_use_id),
        snapshot.record.spec.working_dir,
        frozenset(name for name, declared in snapshot.tools.items() if declared.traits.writes),
    )


def _why_denied(snapshot: Snapshot, call: ToolCall, by_rule: Rule | None) -> str:
    entry = tool_effect(snapshot.journal, call.tool_use_id)
    by = entry.permission_by if entry is not None else None
    words = (entry.words if entry is not None else None) or ""
    timeout_s = snapshot.record.spec.permission_timeout_s
    return why_denied(call.name, by, timeout_s, by_rule, words, _rules(snapshot))


def _refused(call: ToolCall, why: str, by: tuple[Rule, ...] = ()) -> Record:
    return Record(call, ToolResult(text=why, is_error=True), by)
