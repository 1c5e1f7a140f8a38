"""Tool calls that a former process had started: what is attached to, read, run, asked about and never repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from neuraphage.errors import SpoolError
from neuraphage.model.effect import TOOL_CLASSES, EffectClass
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import OnUnknownOutcome, Status
from neuraphage.model.tool import ProbeVerdict, ToolResult
from neuraphage.store import queries
from neuraphage.tools.command_tool import RunCommand
from turnkit import FakeTool, Killed, Rig, calls, new_rig, says, until

MakeRig = Callable[..., Rig]
COMMAND = {"command": "echo once >> ran; echo out"}


def killed(*args: Any, **kwargs: Any) -> Any:
    raise Killed


def dies_once(then: str = "acted") -> Callable[..., ToolResult]:
    """A tool's work whose first process is killed in it."""
    lives: list[int] = []

    def act(params: Any, context: Any) -> ToolResult:
        lives.append(1)
        if len(lives) == 1:
            raise Killed
        return ToolResult(text=then)

    return act


def died_waiting(rig: Rig, **fields: Any) -> str:
    """A task whose process was killed while its command ran; the command has ended since."""
    task_id = rig.submit(**fields)
    rig.services.spool.wait = killed
    rig.dies()
    until(lambda: not rig.services.spool.running())
    return task_id


def lines(rig: Rig) -> int:
    """How often the command ran."""
    ran = rig.folder / "ran"
    return len(ran.read_text(encoding="utf-8").splitlines()) if ran.exists() else 0


def settled(rig: Rig, task_id: str) -> list[str]:
    """How the history says that interrupted calls were settled."""
    events = queries.events(rig.store.context, task_id)
    return [event.data["how"] for event in events if event.kind == "ToolSettled"]


def result_told(rig: Rig, task_id: str) -> str:
    """The result of t1, which the model was also shown."""
    found: str = rig.results(task_id)["t1"]["content"]
    blocks = [block for message in rig.model.requests[-1].messages for block in message["content"]]
    assert found in [block["content"] for block in blocks if block["type"] == "tool_result"]
    return found


# --- each class of effect ---


@pytest.mark.parametrize("effect_class", [EffectClass.PURE, EffectClass.KEYED])
def test_what_may_be_repeated_is_run_again_under_the_same_key(make_rig: MakeRig, effect_class: EffectClass) -> None:
    """The second run has the key of the first, so that the other side can drop it."""
    tool = FakeTool(effect_class=effect_class, act=dies_once())
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id).drain()
    assert len(tool.runs) == 2
    assert len(set(tool.runs)) == 1
    assert len(rig.model.requests) == 2


@pytest.mark.parametrize(
    ("verdict", "runs", "said"),
    [
        (ProbeVerdict.HAPPENED, 1, "was done before"),
        (ProbeVerdict.NOT_HAPPENED, 2, "acted"),
        (ProbeVerdict.UNKNOWN, 1, "may have been done or"),
    ],
)
def test_a_checkable_call_is_looked_at_first(make_rig: MakeRig, verdict: ProbeVerdict, runs: int, said: str) -> None:
    """The probe gets the evidence from before the start, and only a clear no runs it again."""
    tool = FakeTool(effect_class=EffectClass.CHECKABLE, act=dies_once(), happened=verdict)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id).drain()
    assert (tool.probes, len(tool.runs)) == ([{"before": 1}], runs)
    assert said in result_told(rig, task_id)


def test_a_probe_that_raises_tells_nothing(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third-party tool's bug is an unknown outcome, not a turn that ends its worker's claim each time."""
    tool = FakeTool(effect_class=EffectClass.CHECKABLE, act=dies_once())
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    monkeypatch.setattr(tool, "probe", lambda *_: 1 / 0)
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id).drain()
    assert len(tool.runs) == 1
    assert "may have been done or" in result_told(rig, task_id)
    assert rig.get(task_id).status is Status.COMPLETED


def test_an_opaque_call_is_never_run_again(make_rig: MakeRig) -> None:
    """By default the model is told, with what is known, to look before it repeats anything."""
    tool = FakeTool(effect_class=EffectClass.OPAQUE, act=dies_once())
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id).drain()
    assert len(tool.runs) == 1
    assert "outcome is unknown" in result_told(rig, task_id)
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_person_decides_about_an_unknown_outcome(make_rig: MakeRig) -> None:
    """on_unknown_outcome ask_user: a question is opened, its answer is the result, and the call is not repeated."""
    tool = FakeTool(effect_class=EffectClass.OPAQUE, act=dies_once())
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit(on_unknown_outcome=OnUnknownOutcome.ASK_USER)
    rig.dies()
    rig = rig.recover(task_id)
    rig.drain()
    (prompt,) = rig.get(task_id).prompts
    assert (prompt.kind, prompt.options, prompt.tool_use_id) == (
        PromptKind.QUESTION, ("it ran", "it did not run"), "t1",
    )  # fmt: skip
    assert rig.results(task_id) == {}
    rig.people.answer(task_id, None, "it did not run")
    rig.drain()
    assert "said: it did not run" in result_told(rig, task_id)
    assert len(tool.runs) == 1


def test_the_question_about_an_unknown_outcome_survives_another_death(make_rig: MakeRig) -> None:
    """A process that dies with the answer in hand leaves it for the next one; the question keeps its id."""
    tool = FakeTool(effect_class=EffectClass.OPAQUE, act=dies_once())
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit(on_unknown_outcome=OnUnknownOutcome.ASK_USER)
    rig.dies()
    rig = rig.recover(task_id)
    rig.drain()
    rig.people.answer(task_id, None, "it ran")
    rig.store.finish = killed
    rig.dies()
    assert rig.results(task_id) == {}
    rig.recover(task_id).drain()
    assert "said: it ran" in rig.results(task_id)["t1"]["content"]
    assert len(tool.runs) == 1


# --- the spool ---


def test_a_command_that_ended_meanwhile_is_read(make_rig: MakeRig) -> None:
    """Its output and exit status are the result; it is not run again."""
    rig = make_rig(calls(("t1", "run_command", COMMAND)), says("Done."))
    task_id = died_waiting(rig)
    rig.recover(task_id).drain()
    assert (lines(rig), result_told(rig, task_id)) == (1, "out\n[exit code 0]")
    assert settled(rig, task_id) == ["read the result of the command that had ended"]


def test_a_command_that_timed_out_meanwhile_names_the_limit_it_ran_under(make_rig: MakeRig) -> None:
    """The same result as without the death, also where the call asked for no limit, or for more than it got."""
    rig = make_rig(calls(("t1", "run_command", {"command": "echo begun; sleep 300"})), says("Done."))
    rig.services.tools._tools["run_command"] = RunCommand(max_timeout_s=2)
    task_id = died_waiting(rig)
    rig.recover(task_id).drain()
    assert result_told(rig, task_id) == "begun\n[timed out after 2 s; the command was ended]"


def test_a_command_that_never_started_is_run(make_rig: MakeRig) -> None:
    """Killed between the announcement and the start: it is sealed, and run once under another id."""
    rig = make_rig(calls(("t1", "run_command", COMMAND)), says("Done."))
    rig.services.spool.start = killed
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id).drain()
    assert (lines(rig), result_told(rig, task_id)) == (1, "out\n[exit code 0]")
    assert settled(rig, task_id) == ["it had not started"]


@pytest.mark.parametrize("begun", [True, False])
def test_a_command_of_another_host_is_unknown_and_not_run(make_rig: MakeRig, begun: bool) -> None:
    """Whether it began there or not: this spool has no record of it, and that says nothing (fault model)."""
    rig = make_rig(calls(("t1", "run_command", COMMAND)), says("Done."))
    if begun:
        task_id = died_waiting(rig)
    else:
        rig.services.spool.start = killed
        task_id = rig.submit()
        rig.dies()
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    elsewhere = rig.settings.model_copy(update={"data_dir": rig.folder / ".other-host"})
    other = new_rig(rig.folder, rig.model, client=rig.client, settings=elsewhere, dispatcher=rig.dispatcher)
    other.drain()
    assert lines(rig) == int(begun)
    assert "another machine" in result_told(rig, task_id)
    assert other.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize("evidence", [None, {}])
def test_a_command_that_names_no_spool_is_unknown_and_not_run(make_rig: MakeRig, evidence: Any) -> None:
    """A journal without the spool's name is trusted by nobody."""
    rig = make_rig(calls(("t1", "run_command", COMMAND)), says("Done."))
    task_id = died_waiting(rig)
    change_evidence(rig, task_id, lambda _: evidence)
    rig.recover(task_id).drain()
    assert lines(rig) == 1
    assert "outcome is unknown" in result_told(rig, task_id)


def test_a_command_whose_record_is_gone_by_age_is_unknown_and_not_run(make_rig: MakeRig) -> None:
    """An entry that retention deleted looks like one that never was; the time of the announcement tells them apart."""
    rig = make_rig(calls(("t1", "run_command", COMMAND)), says("Done."), saved_max_age_s=10 * 86_400.0)
    task_id = died_waiting(rig)
    until(lambda: rig.services.spool.expire(0.0) == 1)
    old_ms = rig.store.now_ms() - int(rig.settings.exec_retention_s * 1000)
    change_evidence(rig, task_id, lambda evidence: {**evidence, "at_ms": old_ms})
    rig.recover(task_id).drain()
    assert lines(rig) == 1
    assert "so long ago that its record is gone" in result_told(rig, task_id)


class Deferred(RunCommand):
    """A tool of others whose calls are detached work, and which reads what came of them in its own way."""

    def __init__(self, reads: Callable[..., ToolResult]) -> None:
        super().__init__()
        self.reads = reads
        self._declaration = self._declaration.model_copy(update={"name": "act"})

    def detached_result(self, params: Any, status: Any, context: Any) -> ToolResult:
        return self.reads(status)


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        (lambda status: ToolResult(text=f"it said {status.output}"), "it said out"),
        (lambda _: 1 / 0, "Its work is done"),
    ],
)
def test_a_tool_of_others_reads_its_detached_work_itself(
    make_rig: MakeRig, reads: Callable[..., ToolResult], said: str
) -> None:
    """One that cannot read it leaves the outcome unknown; the work is not begun again."""
    rig = make_rig(calls(("t1", "act", COMMAND)), says("Done."), extra=[Deferred(reads)])
    task_id = died_waiting(rig)
    rig.recover(task_id).drain()
    assert lines(rig) == 1
    assert said in result_told(rig, task_id)
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize("method", ["seal", "look", "wait"])
def test_a_spool_that_cannot_tell_is_an_unknown_outcome(make_rig: MakeRig, method: str) -> None:
    """A full or broken disk at the recovery: the task goes on, the command is not run again."""
    line = "echo once >> ran; until test -e go; do sleep 0.02; done"
    rig = make_rig(calls(("t1", "run_command", {"command": line})), says("Done."))
    task_id = rig.submit()
    rig.services.spool.wait = killed
    rig.dies()
    until(lambda: lines(rig) == 1)
    if method == "look":
        (rig.folder / "go").touch()
        until(lambda: not rig.services.spool.running())
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    after = rig.reborn()

    def broken(*args: Any) -> Any:
        raise SpoolError("no space left")

    setattr(after.services.spool, method, broken)
    after.drain()
    (rig.folder / "go").touch()
    assert "no space left" in result_told(rig, task_id)
    assert lines(rig) == 1
    assert after.get(task_id).status is Status.COMPLETED


def change_evidence(rig: Rig, task_id: str, change: Callable[[Any], Any]) -> None:
    key = rig.kit.keys.turn(task_id)
    entry = orjson.loads(rig.client.hget(key, "t1"))
    rig.client.hset(key, "t1", orjson.dumps({**entry, "evidence": change(entry["evidence"])}))


# --- a worker with other tools ---


@pytest.mark.parametrize("effect_class", [EffectClass.KEYED, EffectClass.CHECKABLE, EffectClass.OPAQUE])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_begun_call_is_left_alone_where_its_tool_has_changed(
    make_rig: MakeRig, effect_class: EffectClass, is_there: bool
) -> None:
    """Another version may mean something else by the same parameters, and by the same key."""
    tool = FakeTool(effect_class=effect_class, act=dies_once(), happened=ProbeVerdict.NOT_HAPPENED)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    other = FakeTool(effect_class=effect_class, version="2")
    rig.recover(task_id).reborn(extra=[other] if is_there else []).drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert (len(tool.runs), other.runs, other.probes) == (1, [], [])
    told = result_told(rig, task_id)
    assert told.startswith("act was interrupted and its outcome is unknown: it may have been done or not. The tool ")
    assert ("it is version 2 now" in told) is is_there
    assert ("is gone since. There is no tool 'act'. The tools are: read_file" in told) is not is_there


def test_a_person_is_asked_about_a_begun_call_whose_tool_is_gone(make_rig: MakeRig) -> None:
    """The prompt tells the call, though nothing is known of the tool but its name."""
    tool = FakeTool(effect_class=EffectClass.KEYED, act=dies_once())
    rig = make_rig(calls(("t1", "act", {"amount": 3})), says("Done."), extra=[tool])
    task_id = rig.submit(on_unknown_outcome=OnUnknownOutcome.ASK_USER)
    rig.dies()
    rig.recover(task_id).reborn(extra=[]).drain()
    (prompt,) = rig.store.get(task_id).prompts
    assert (prompt.kind, prompt.tool, prompt.params_summary) == (PromptKind.QUESTION, "act", "amount=3")


def test_a_pure_call_whose_tool_is_gone_is_told_so(make_rig: MakeRig) -> None:
    """It has changed nothing, so nothing about it is unknown."""
    tool = FakeTool(act=dies_once())
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id).reborn(extra=[]).drain()
    assert result_told(rig, task_id).startswith("There is no tool 'act'.")
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize("effect_class", TOOL_CLASSES)
def test_a_call_begun_by_a_release_without_versions_goes_on(make_rig: MakeRig, effect_class: EffectClass) -> None:
    """Its journal names none, so it is taken for the same one."""
    tool = FakeTool(effect_class=effect_class, act=dies_once(), happened=ProbeVerdict.NOT_HAPPENED)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    key = rig.kit.keys.turn(task_id)
    entry = orjson.loads(rig.client.hget(key, "t1"))
    del entry["version"]
    rig.client.hset(key, "t1", orjson.dumps(entry))
    rig.recover(task_id).drain()
    assert len(tool.runs) == (1 if effect_class is EffectClass.OPAQUE else 2)
