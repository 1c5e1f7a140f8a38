"""Known bugs of earlier runtimes and edge cases (see `rows.py`): one test each, which fails on the bug."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from neuraphage.decide.policy import Ruling, looks_catastrophic, ruled
from neuraphage.decide.rules.judging import CalledTool
from neuraphage.errors import StoreUnavailable
from neuraphage.model.effect import EffectClass, MarkerName
from neuraphage.model.task import Status
from neuraphage.ports import Changes, SuspendTo
from neuraphage.runtime.outcome import Outcome
from neuraphage.shell import ShfmtReader
from neuraphage.store import live, queries
from neuraphage.store.commit import commit
from neuraphage.testing import ManualClock
from neuraphage.tools.registry import default_toolbox
from storekit import new_kit
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]


def test_ended_tasks_are_no_orphans(make_rig: MakeRig) -> None:
    """B2: a sweep over completed, failed and cancelled tasks finds nothing to do and leaves them as they are."""
    rig = make_rig()
    ended = [rig.kit.put(status) for status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED)]
    before = {task_id: rig.kit.status(task_id) for task_id in ended}
    report = rig.sweep.run(guarded=False)
    assert report is not None
    assert report.is_empty
    assert {task_id: rig.kit.status(task_id) for task_id in ended} == before
    assert rig.dispatcher.messages == []


def test_a_commit_keeps_what_it_does_not_mean_to_change(make_rig: MakeRig) -> None:
    """B3: working directory, reason and counters survive turns, waits, pauses and a recovery."""
    rig = make_rig(calls(("t1", "ask_user", {"question": "?"})), says("Done."))
    task_id = rig.run()
    before = rig.get(task_id)
    assert before.counters.tokens_used == 100
    rig.people.pause(task_id)
    assert rig.get(task_id).counters == before.counters
    rig.people.resume(task_id)
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.dispatcher.messages.clear()
    lease = rig.kit.claim(task_id, process="dead")
    rig.store.commit(lease, Changes())
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    after = rig.get(task_id)
    assert after.spec == before.spec
    assert after.spec.working_dir == str(rig.folder)
    assert after.started_reason.value == "recovered"
    assert (after.counters.tokens_used, after.counters.cost_microusd) == (100, 100)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_pause_is_no_failure(make_rig: MakeRig) -> None:
    """B5: pause, cancel and waiting each end in their own status, and many tokens alone pause nobody."""
    huge = says("Done.").usage.model_copy(update={"input_tokens": 5_000_000})
    rig = make_rig(calls(("t1", "act", {})).model_copy(update={"usage": huge}), says("Done."), extra=[FakeTool()])
    busy, stopped = rig.run(), rig.submit()
    rig.people.pause(stopped)
    assert rig.get(busy).status is Status.COMPLETED
    assert rig.get(stopped).status is Status.PAUSED
    rig.people.cancel(stopped)
    assert rig.get(stopped).status is Status.CANCELLED


def test_nothing_waits_for_a_viewer(make_rig: MakeRig) -> None:
    """B6: without any viewer events and counters are all there, and no stream of pieces is made for nobody."""
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool()])
    task_id = rig.run()
    kinds = rig.kinds(task_id)
    assert kinds[0] == "TaskCreated"
    assert kinds[-1] == "TaskCompleted"
    assert kinds.count("ResponseReceived") == rig.get(task_id).counters.model_calls == 2
    assert not rig.client.exists(rig.kit.keys.live(task_id))
    live.watch(rig.store.context, task_id)
    assert rig.client.exists(rig.kit.keys.live(task_id))


def test_the_oldest_waits_least(make_rig: MakeRig) -> None:
    """B11: what the sweep publishes again goes out in the order in which it was queued."""
    rig = make_rig()
    rig.dispatcher.refusing = True
    tasks = [rig.submit() for _ in range(5)]
    rig.dispatcher.refusing = False
    for at, task_id in enumerate(tasks):
        rig.client.zadd(rig.kit.keys.outbox, {task_id: 1_000 + at})
    rig.sweep.run(guarded=False)
    assert [task_id for task_id, _ in rig.dispatcher.messages] == tasks


def test_a_thousand_events_have_a_thousand_ids(make_rig: MakeRig) -> None:
    """B12: events of one instant do not replace each other."""
    rig = make_rig(*[calls(*[(f"t{turn}-{n}", "act", {}) for n in range(100)]) for turn in range(5)], says("Done."),
                   extra=[FakeTool()])  # fmt: skip
    task_id = rig.run()
    events = queries.events(rig.store.context, task_id, limit=10_000)
    assert len({event.event_id for event in events}) == len(events) > 1_000
    assert sum(event.kind == "ToolCompleted" for event in events) == 500


@pytest.mark.parametrize("command", ["git status && rm -rf build", "ls; curl x | sh", "cat a > b", "ls"])
def test_a_safe_beginning_makes_no_command_safe(command: str) -> None:
    """B15: no command is taken for harmless by how it begins: all are asked about, and all are opaque."""
    tool = default_toolbox().get("run_command")
    assert tool is not None
    assert tool.declaration.effect_class is EffectClass.OPAQUE
    called = CalledTool(tool.declaration, {"command": command}, ShfmtReader().read(command))
    assert ruled(called, (), {}, None).ruling is Ruling.ASK
    assert looks_catastrophic(f"ls && {'rm'} -rf /")


def test_tools_are_called_by_one_name() -> None:
    """B16: a tool is found under the name it declares, and the names that drifted apart are no tools."""
    box = default_toolbox()
    for declaration in box.declarations():
        tool = box.get(declaration.name)
        assert tool is not None
        assert tool.declaration == declaration
    assert [name for name in ("bash", "edit_file", "Bash") if box.get(name)] == []


def test_waiting_holds_no_worker(make_rig: MakeRig) -> None:
    """B17: any number of waiting tasks leaves the one worker free, and what they wait for is stored."""
    asks = [calls((f"t{n}", "ask_user", {"question": "?"})) for n in range(20)]
    rig = make_rig(*asks, says("Done."))
    waiting = [rig.run() for _ in range(20)]
    done = rig.run()
    assert rig.get(done).status is Status.COMPLETED
    assert rig.keeper.held_count() == 0
    after = rig.reborn()
    assert {after.get(task_id).status for task_id in waiting} == {Status.WAITING_FOR_USER}
    assert all(after.get(task_id).prompts for task_id in waiting)


def test_clocks_of_workers_decide_nothing() -> None:
    """R213: a worker whose clocks are years off writes the server's time, and is no orphan for it."""
    kit = new_kit()
    clock = ManualClock(boottime_s=5.0, wall_ms=1)
    kit.store.clock = clock
    task_id, lease = kit.running()
    clock.set_wall_ms(4_000_000_000_000)
    commit(kit.store.context, clock, lease, Changes())
    record = kit.store.get(task_id)
    now_ms = kit.store.now_ms()
    assert abs(record.saved_at_ms - now_ms) < 60_000
    assert record.lease_until_ms is not None
    assert 0 < record.lease_until_ms - now_ms <= kit.store.context.lease_ms
    assert kit.recover(task_id, "expired").verdict.value == "STALE"


def test_a_save_from_the_future_counts_as_fresh() -> None:
    """R213: a server whose clock was set back resumes what it saved before."""
    kit = new_kit()
    task_id, _ = kit.running()
    kit.client.hset(kit.keys.task(task_id), "saved_at", kit.store.now_ms() + 10**9)
    assert kit.recover(task_id).verdict.value == "RECOVERED"


def test_the_sweep_reads_no_conversation(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """R214: however long the conversations are, a sweep asks only for their length."""
    rig = make_rig()
    task_id, _ = rig.kit.running()
    rig.kit.expire_lease(task_id)
    seen: list[str] = []
    real = redis.connection.Connection.pack_command

    def spy(self: Any, *args: Any) -> Any:
        seen.append(str(args[0]))
        return real(self, *args)

    monkeypatch.setattr(redis.connection.Connection, "pack_command", spy)
    rig.sweep.run(guarded=False)
    rig.kit.age_mark(task_id)
    rig.sweep.run(guarded=False)
    assert rig.kit.place(task_id) == "outbox"
    assert [name for name in seen if name.upper() in {"LRANGE", "LINDEX", "GETRANGE"}] == []
    from neuraphage.store.scripts import source_of

    assert "call('LRANGE', MESSAGES" not in source_of("recover")
    assert "redis.call('LLEN', MESSAGES" in source_of("recover")


def refusing(times: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """A write that finds the server away a few times."""
    left = [times]

    def write(*args: Any, **kwargs: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise StoreUnavailable("loading")
        return real(*args, **kwargs)

    return write


def test_a_busy_server_is_waited_for(make_rig: MakeRig) -> None:
    """R221: a reply in hand is offered again until the server takes it; the model is not called again."""
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool()])
    task_id = rig.submit()
    rig.store.finish = refusing(3, rig.store.finish)
    rig.drain()
    assert (rig.get(task_id).status, len(rig.model.requests)) == (Status.COMPLETED, 2)


def test_no_effect_without_its_marker(make_rig: MakeRig) -> None:
    """R223: while the announcement of a call is refused the call does not start; then it does, once."""
    tool = FakeTool(effect_class=EffectClass.OPAQUE)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    markers: list[MarkerName] = []
    runs_at_refusal: list[int] = []
    real = rig.store.commit

    def watched(lease: Any, changes: Changes) -> Any:
        name = changes.marker.name if changes.marker else None
        if name is MarkerName.TOOL_STARTED and len(runs_at_refusal) < 3:
            runs_at_refusal.append(len(tool.runs))
            raise StoreUnavailable("OOM command not allowed")
        return real(lease, changes)

    def act(params: Any, context: Any) -> Any:
        markers.append(rig.get(task_id).marker.name)
        return FakeTool().act(params, context)

    tool.act = act
    rig.store.commit = watched
    task_id = rig.submit()
    rig.drain()
    assert (runs_at_refusal, markers, len(tool.runs)) == ([0, 0, 0], [MarkerName.TOOL_STARTED], 1)


def test_a_refused_move_stops_the_worker(make_rig: MakeRig) -> None:
    """B22: a worker that is refused goes no further, so nothing runs while the record says Failed."""
    tool = FakeTool()
    rig = make_rig(extra=[tool])

    def fails_meanwhile(request: Any, show: Any, interrupt: Any) -> Any:
        lease = rig.store.claim(task_id, 1, rig.runner._process_id, claim_id(rig, task_id)).lease
        assert lease is not None
        detail = {"error": "given up", "recoverable": False}
        rig.store.suspend(lease, Changes(), SuspendTo.POISONED, detail=detail)
        return calls(("t1", "act", {}))

    rig.model.steps = [fails_meanwhile]
    task_id = rig.submit()
    assert rig.step() == Outcome.TAIL_LOST
    assert (rig.get(task_id).status, tool.runs) == (Status.FAILED, [])


def claim_id(rig: Rig, task_id: str) -> str:
    return rig.get(task_id).claim_id or ""
