"""A task that is over its rate waits in timers, held by no process, and goes on when the minute is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from neuraphage.api.reads import rules_of
from neuraphage.decide.rates import MINUTE_MS
from neuraphage.decide.why import explain
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool import ProbeVerdict, ToolResult
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.ports import ToolContext
from neuraphage.store import queries
from neuraphage.store.task_facts import task_facts
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]


def run(key: str, command: str = "echo a") -> tuple[str, str, dict[str, str]]:
    return key, "run_command", {"command": command}


def write(key: str) -> tuple[str, str, dict[str, str]]:
    return key, "write_file", {"path": f"{key}.txt", "content": "a\n"}


def minute_later(rig: Rig, task_id: str) -> Rig:
    """As when a minute has passed: what is stored began that much sooner, and the timer is due."""
    key = rig.kit.keys.messages(task_id)
    for at, raw in enumerate(rig.client.lrange(key, 0, -1)):
        entry = orjson.loads(raw) if raw.startswith(b"{") else {}
        if "began" in entry:
            kind, began_ms = entry["began"]
            rig.client.lset(key, at, orjson.dumps({**entry, "began": [kind, began_ms - MINUTE_MS]}))
    return fired(rig.reborn(), task_id)


def fired(rig: Rig, task_id: str) -> Rig:
    rig.kit.due("timers", task_id)
    assert rig.sweep.timers(rig.store.now_ms()) == 1
    rig.drain()
    return rig


def due_ms(rig: Rig, task_id: str) -> int:
    return int(rig.client.zscore(rig.kit.keys.timers, task_id))


@pytest.mark.parametrize(("make", "kind"), [(run, "commands"), (write, "writes")])
def test_the_call_over_the_rate_waits(make_rig: MakeRig, make: Callable[..., object], kind: str) -> None:
    """Until the first of the last ones is a minute old; nothing is denied, and the history tells it."""
    rates = {"task_commands_per_minute": 2, "task_writes_per_minute": 2}
    rig = make_rig(calls(make("t1"), make("t2")), calls(make("t3")), says("Done."), **rates)
    task_id = rig.run()
    record = rig.get(task_id)
    assert (record.status, record.place, set(rig.results(task_id))) == (Status.RUNNING, "timers", {"t1", "t2"})
    (first,) = [entry["began"][1] for entry in rig.entries(task_id) if entry.get("began")][:1]
    assert due_ms(rig, task_id) == first + MINUTE_MS
    (held,) = [one.data for one in queries.events(rig.store.context, task_id) if one.kind == "ToolHeld"]
    assert (held["id"], held["rate"], held["most"]) == ("t3", kind, 2)
    assert 0 < held["wait_ms"] <= MINUTE_MS
    rig = fired(rig.reborn(), task_id)
    assert rig.get(task_id).place == "timers", "a timer that comes too soon lets nothing through"
    rig = minute_later(rig, task_id)
    assert rig.get(task_id).status is Status.COMPLETED
    assert not rig.results(task_id)["t3"].get("is_error")


def test_a_killed_worker_forgets_nothing(make_rig: MakeRig) -> None:
    """What had begun when it died counts, whoever finds out what came of it."""

    def dies_once(params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        if len(tool.runs) == 1:
            raise Killed
        return ToolResult(text="done")

    traits = ToolTraits(writes=("n",))
    tool = FakeTool(name="keyed", effect_class=EffectClass.KEYED, side_effecting=True, traits=traits, act=dies_once)
    rig = make_rig(
        calls(("t1", "keyed", {"n": "a"})), calls(("t2", "keyed", {"n": "b"})), says("Done."), extra=[tool],
        task_writes_per_minute=1,
    )  # fmt: skip
    task_id = rig.submit()
    rig.dies()
    (begun,) = [entry.began for entry in rig.journal(task_id).values() if entry.key == "t1"]
    rig = rig.recover(task_id)
    rig.drain()
    assert set(rig.results(task_id)) == {"t1"}
    (stored,) = [entry["began"] for entry in rig.entries(task_id) if entry.get("began")]
    assert (stored[0], stored[1]) == begun, "it began when it was begun first"
    assert rig.get(task_id).place == "timers"
    assert due_ms(rig, task_id) == stored[1] + MINUTE_MS


def test_what_is_not_begun_does_not_count(make_rig: MakeRig) -> None:
    """Denied calls, and those that cannot run; nor do calls that only read."""
    rig = make_rig(
        calls(run("t1", "git push"), ("t2", "run_command", {}), ("t3", "list_directory", {"path": "."})),
        calls(run("t4")),
        calls(run("t5")),
        says("Done."),
        rules=("deny run_command: git push",),
        task_commands_per_minute=1,
    )
    task_id = rig.run()
    assert set(rig.results(task_id)) == {"t1", "t2", "t3", "t4"}
    assert rig.get(task_id).place == "timers"


def test_none_is_no_limit(make_rig: MakeRig) -> None:
    """As many as the model likes."""
    many = [calls(*(run(f"t{n}", ":") for n in range(4)))]
    rig = make_rig(*many, says("Done."), task_commands_per_minute="none")
    assert rig.get(rig.run()).status is Status.COMPLETED


def test_an_approval_is_looked_at_after_the_wait(make_rig: MakeRig) -> None:
    """The wait voids nothing by itself; but what a person has allowed runs as it was shown when it runs at last."""
    rig = make_rig(calls(run("t1"), write("t2"), write("t3")), says("Done."), task_writes_per_minute=1)
    task_id = rig.run(allow=("run_command",))
    for prompt in rig.get(task_id).prompts:
        rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig.drain()
    assert (set(rig.results(task_id)), rig.get(task_id).prompts) == ({"t1", "t2"}, ())
    (rig.folder / "t3.txt").write_text("theirs", encoding="utf-8")
    rig = minute_later(rig, task_id)
    assert rig.kinds(task_id).count("PermissionVoided") == 1
    assert (rig.folder / "t3.txt").read_text(encoding="utf-8") == "theirs"


def test_a_pause_and_a_cancel_reach_a_task_that_waits(make_rig: MakeRig) -> None:
    """It is held by nobody, so both hold at once; a resumed one waits on."""
    rig = make_rig(calls(run("t1")), calls(run("t2")), says("Done."), task_commands_per_minute=1)
    task_id = rig.run()
    rig.people.pause(task_id)
    assert rig.get(task_id).status is Status.PAUSED
    rig.people.resume(task_id)
    rig.drain()
    assert rig.get(task_id).place == "timers"
    rig.people.cancel(task_id)
    assert rig.get(task_id).status is Status.CANCELLED


def test_why_says_what_it_waits_for(make_rig: MakeRig) -> None:
    """With the setting, and when it goes on."""
    rig = make_rig(calls(run("t1")), calls(run("t2")), says("Done."), task_commands_per_minute=1)
    task_id = rig.run()
    found = explain(task_facts(rig.store.context, task_id), rules_of(rig.settings))
    assert "1 commands within a minute, the most that `task_commands_per_minute` allows" in found.because[0]
    assert "its next call, run_command, waits" in found.because[0]
    (following,) = found.next
    assert following.in_ms is not None
    assert following.in_ms <= MINUTE_MS


@pytest.mark.parametrize("is_written", [False, True])
def test_a_kill_around_the_write_that_holds_a_call(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    """Before it the model is asked once more, behind it the task waits already; it is told once either way."""
    again = () if is_written else (calls(run("t2")),)
    rig = make_rig(calls(run("t1")), calls(run("t2")), *again, says("Done."), task_commands_per_minute=1)
    real = rig.store.suspend

    def deadly(*args: Any, **kwargs: Any) -> Any:
        if is_written:
            real(*args, **kwargs)
        raise Killed

    task_id = rig.submit()
    monkeypatch.setattr(rig.store, "suspend", deadly)
    rig.step()
    rig.dies()
    rig = rig.reborn() if is_written else rig.recover(task_id)
    rig.drain()
    assert (rig.get(task_id).place, set(rig.results(task_id))) == ("timers", {"t1"})
    assert rig.kinds(task_id).count("ToolHeld") == 1
    rig = minute_later(rig, task_id)
    assert rig.get(task_id).status is Status.COMPLETED


def test_what_was_put_back_counts_from_its_real_begin(make_rig: MakeRig) -> None:
    """A call that is known not to have run has not begun: it is held for no slot of its own, and counts once."""

    def dies_once(params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        if len(tool.runs) == 1:
            raise Killed
        return ToolResult(text="done")

    traits, checkable = ToolTraits(writes=("n",)), EffectClass.CHECKABLE
    tool = FakeTool(name="checked", effect_class=checkable, side_effecting=True, traits=traits, act=dies_once)
    tool.happened = ProbeVerdict.NOT_HAPPENED
    rig = make_rig(calls(("t1", "checked", {"n": "a"})), says("Done."), extra=[tool], task_writes_per_minute=1)
    task_id = rig.submit()
    rig.dies()
    begun = orjson.loads(rig.client.hget(rig.kit.keys.turn(task_id), "t1"))
    begun["began"][1] -= MINUTE_MS // 2
    rig.client.hset(rig.kit.keys.turn(task_id), "t1", orjson.dumps(begun))
    rig = rig.recover(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    (stored,) = [entry["began"] for entry in rig.entries(task_id) if entry.get("began")]
    assert stored[1] >= begun["began"][1] + MINUTE_MS // 2
    assert "ToolHeld" not in rig.kinds(task_id)
