"""Every decision about a call is in the history: who, by which rule, about what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.cli.event_text import event_text, routine
from neuraphage.hooks import PreToolUse, Verdict, allow, block, guard
from neuraphage.model.effect import EffectClass
from neuraphage.model.event import Event
from neuraphage.model.task import Status
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.store import queries
from neuraphage.testing import CrashInjector, CrashPoint, Side
from turnkit import FakeTool, Killed, Rig, calls, killed, recorded, says

MakeRig = Callable[..., Rig]
RUN = ("t1", "run_command", {"command": "echo a | cat"})


def history(rig: Rig, task_id: str, *kinds: str) -> list[Event]:
    return [event for event in queries.events(rig.store.context, task_id) if event.kind in kinds]


def decisions(rig: Rig, task_id: str) -> list[Event]:
    return history(rig, task_id, "PermissionGranted", "PermissionDenied")


def decided(rig: Rig, task_id: str) -> list[tuple[str, Any, Any, Any]]:
    """Kind, who, rule and source of each decision; every one has a digest."""
    found = decisions(rig, task_id)
    assert all(len(event.data["digest"]) == 64 for event in found)
    return [
        (event.kind.removeprefix("Permission"), event.data["by"], event.data.get("rule"), event.data.get("source"))
        for event in found
    ]


@pytest.mark.parametrize(
    ("rules", "allow", "call", "decision"),
    [
        ((), ("run_command",), RUN, ("Granted", "rule", "allow run_command", "task")),
        (("allow run_command: cat *",), (), RUN, ("Granted", "rule", "allow run_command: cat *", "settings")),
        (
            ("allow run_command: cat *",),
            ("run_command: true *",),
            ("t1", "run_command", {"command": "cat /dev/null; true; cat /dev/null"}),
            ("Granted", "rule", "allow run_command: cat *; allow run_command: true *", "settings, task"),
        ),
        (("deny run_command: cat *",), ("*",), RUN, ("Denied", "rule", "deny run_command: cat *", "settings")),
        (("deny read_file: *.key",), (), ("t1", "read_file", {"path": "a.key"}),
         ("Denied", "rule", "deny read_file: *.key", "settings")),
        (("allow read_file: *.txt",), (), ("t1", "read_file", {"path": "a.txt"}),
         ("Granted", "rule", "allow read_file: *.txt", "settings")),
        (("allow run_command: true *",), (), ("t1", "run_command", {"command": "echo a"}),
         ("Granted", "rule", "allow *: commands that only tell", "built-in")),
    ],
)  # fmt: skip
def test_what_a_rule_decides_is_told_once(
    make_rig: MakeRig, rules: tuple[str, ...], allow: tuple[str, ...], call: Any, decision: tuple[str, ...]
) -> None:
    """With all rules that allow a line together, and where they come from."""
    rig = make_rig(calls(call), says("Done."), rules=rules)
    task_id = rig.run(allow=allow)
    assert decided(rig, task_id) == [decision]
    violations = [(one.data["by"], one.data["source"]) for one in history(rig, task_id, "SecurityViolation")]
    assert violations == ([decision[2:]] if decision[0] == "Denied" else [])


def test_what_nobody_rules_about_leaves_none(make_rig: MakeRig) -> None:
    """A call that only reads, one that does not fit, and one of a tool that there is not."""
    rig = make_rig(
        calls(("t1", "read_file", {"path": "a"}), ("t2", "run_command", {}), ("t3", "nothing", {})), says("Done.")
    )
    assert decided(rig, rig.run(allow=())) == []


def test_what_never_runs_is_told_as_nobodys_rule(make_rig: MakeRig) -> None:
    """Whatever is allowed. The tool only looks like one that runs commands."""
    tool = FakeTool(side_effecting=True, traits=ToolTraits(command="command"))
    rig = make_rig(calls(("t1", "act", {"command": "mkfs.ext4 /dev/none"})), says("Done."), extra=[tool])
    assert decided(rig, rig.run()) == [("Denied", "rule", "deny *: commands that destroy", "built-in")]
    assert tool.runs == []


@pytest.mark.parametrize(("word", "kind"), [("always", "Granted"), ("never", "Denied")])
def test_a_remembered_answer_decides_by_name(make_rig: MakeRig, word: str, kind: str) -> None:
    """The first call by the person, the next one by what they said then."""
    tool = FakeTool(side_effecting=True)
    rig = make_rig(calls(("t1", "act", {})), calls(("t2", "act", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, word)
    rig.drain()
    assert len(history(rig, task_id, "SecurityViolation")) == (word == "never"), "a person's no breaks no rule"
    effect = "allow" if word == "always" else "deny"
    assert decided(rig, task_id) == [(kind, "user", None, None), (kind, "rule", f"{effect} act", "answer")]


def test_a_decision_is_told_with_the_call_that_it_is_about(make_rig: MakeRig) -> None:
    """A kill before the announcement leaves neither, a kill after it both; it is judged anew, and that is told."""

    def deadly(params: Any, context: Any) -> Any:
        raise Killed

    tool = FakeTool(effect_class=EffectClass.PURE, side_effecting=True, act=deadly)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    kinds = rig.kinds(task_id)
    assert kinds[-2:] == ["PermissionGranted", "ToolStarted"]
    tool.act = FakeTool.act
    rig = rig.recover(task_id)
    rig.drain()
    assert rig.kinds(task_id).count("PermissionGranted") == rig.kinds(task_id).count("ToolStarted") == 2


@pytest.mark.parametrize("side", Side)
def test_a_violation_is_told_once_whatever_crashes(make_rig: MakeRig, side: Side) -> None:
    """In the write of the call's result: with the decision, or neither, and a recovered turn does not repeat it."""
    replies = [calls(("t1", "act", {}))] * (2 if side is Side.BEFORE else 1)  # what is not stored is asked for again
    rig = make_rig(*replies, says("Done."), extra=[FakeTool()], rules=("deny act",))
    task_id = rig.submit()
    recorded(rig, CrashInjector(CrashPoint("TurnStore.finish", 1, side), killed))
    rig.dies()
    assert rig.kinds(task_id).count("SecurityViolation") == (side is Side.AFTER)
    rig.after_death(task_id)
    kinds = rig.kinds(task_id)
    assert kinds.count("SecurityViolation") == kinds.count("PermissionDenied") == 1
    place = kinds.index("SecurityViolation")
    assert kinds[place - 1] == "PermissionDenied"
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_request_is_told_with_the_prompt_that_it_opens(make_rig: MakeRig) -> None:
    """What is asked about, until when, under which prompt and digest; once a prompt, and of permissions alone."""
    tool = FakeTool(side_effecting=True)
    asks = ("t2", "ask_user", {"question": "Which?"})
    rig = make_rig(calls(("t1", "act", {}), asks), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    (event,) = history(rig, task_id, "PermissionRequest")
    (prompt,) = [one for one in rig.get(task_id).prompts if one.tool == "act"]
    said = {"prompt": prompt.prompt_id, "digest": prompt.digest, "deadline_ms": prompt.deadline_ms}
    assert event.data == {"tool": "act", "id": "t1", **said}
    assert rig.kinds(task_id)[-2:] == ["PermissionRequest", "UserInputNeeded"]
    assert event_text(event) == "asks a person about act"
    assert routine(event), "a view shows the prompt itself"
    for one in rig.get(task_id).prompts:
        rig.people.answer(task_id, one.prompt_id, "yes")
    rig.drain()
    assert rig.kinds(task_id).count("PermissionRequest") == 1
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize("side", Side)
def test_a_request_is_told_once_whatever_crashes(make_rig: MakeRig, side: Side) -> None:
    """In the write that opens the prompt: it is there if and only if the prompt is."""
    reply = calls(("t1", "act", {}))
    rig = make_rig(reply, reply, extra=[FakeTool(side_effecting=True)])
    task_id = rig.submit(allow=())
    recorded(rig, CrashInjector(CrashPoint("TurnStore.suspend", 1, side), killed))
    rig.dies()
    assert rig.kinds(task_id).count("PermissionRequest") == len(rig.get(task_id).prompts) == (side is Side.AFTER)
    rig.after_death(task_id)
    assert rig.kinds(task_id).count("PermissionRequest") == len(rig.get(task_id).prompts) == 1


def test_a_view_shows_a_violation_once(make_rig: MakeRig) -> None:
    """By the line about the rule that denied, or by the one about the guard that blocked, and not by both of two."""

    @guard("PreToolUse")
    def judge(call: PreToolUse) -> Verdict:
        return block("not today") if call.tool == "act" else allow()

    other = FakeTool("other")
    rig = make_rig(
        calls(("t1", "act", {}), ("t2", "other", {})), says("Done."), extra=[FakeTool(), other], hooks=[judge],
        rules=("deny other",),
    )  # fmt: skip
    task_id = rig.run()
    kinds = ("PermissionDenied", "SecurityViolation", "SecurityPolicyCheck")
    shown = [event_text(one) for one in history(rig, task_id, *kinds) if not routine(one)]
    assert shown == ["act was against judge, and not run", "other not allowed by the rule `deny other`"]
    violation = history(rig, task_id, "SecurityViolation")[-1]
    assert event_text(violation) == "other was against the rule `deny other`, and not run"


def test_people_read_by_which_rule(make_rig: MakeRig) -> None:
    """A view of a running task leaves out what rules allow; it shows what they forbid."""
    rig = make_rig(
        calls(RUN, ("t2", "run_command", {"command": "true"})), says("Done."), rules=("deny run_command: true",)
    )
    allowed, denied = decisions(rig, rig.run())
    assert event_text(allowed) == "run_command allowed by the rule `allow *`"
    assert event_text(denied) == "run_command not allowed by the rule `deny run_command: true`"
    assert (routine(allowed), routine(denied)) == (True, False)
