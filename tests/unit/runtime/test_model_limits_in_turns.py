"""Limits of models, in whole turns: a task over them waits in timers, and through deaths nothing is taken twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.api.reads import rules_of
from neuraphage.decide.begun_call import Finding
from neuraphage.decide.model_family import gate_of
from neuraphage.decide.why import explain
from neuraphage.errors import CancelRequested, FaultKind, ModelFault
from neuraphage.model.capacity import LearnedLimits, ToldLimits
from neuraphage.model.effect import MODEL_ENTRY, EffectState
from neuraphage.model.task import Status
from neuraphage.model.usage import Usage
from neuraphage.ports import NoRelay
from neuraphage.runtime import capacity_step
from neuraphage.store.task_facts import task_facts
from neuraphage.testing import CrashInjector, CrashPoint, Recorder, crash_points
from turnkit import FakeTool, Killed, Rig, calls, killed, recorded, says

MakeRig = Callable[..., Rig]
GATE = gate_of("", "scripted-1")


def used(rig: Rig, kind: str = "requests") -> int:
    return int(rig.client.hget(rig.kit.keys.gate(GATE), kind) or 0)


def window_over(rig: Rig) -> None:
    """All calls that are over count no longer."""
    key = rig.kit.keys.used(GATE)
    for member in rig.client.zrange(key, 0, -1):
        rig.client.zadd(key, {member: 1})


def fire(rig: Rig, *tasks: str) -> None:
    for task_id in tasks:
        rig.kit.due("timers", task_id)
    rig.sweep.timers(rig.store.now_ms())
    rig.drain()


def counted(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the scripts that are run from now on."""
    from neuraphage.store.scripts import Script

    made: list[str] = []
    run = Script.run_and_read

    def noted(self: Script, *args: Any, **more: Any) -> Any:
        made.append(self.binding.name)
        return run(self, *args, **more)

    monkeypatch.setattr(Script, "run_and_read", noted)
    return made


def test_over_the_limit_a_task_waits_without_a_worker(make_rig: MakeRig) -> None:
    """No call is made, no attempt counted; people are told, and it goes on when the minute is over."""
    rig = make_rig(*[says("Done.")] * 3, model_limits=("scripted requests=2",))
    first, second, third = (rig.run() for _ in range(3))
    assert {rig.get(task_id).status for task_id in (first, second)} == {Status.COMPLETED}
    assert (rig.get(third).status, rig.get(third).place) == (Status.RUNNING, "timers")
    assert (len(rig.model.requests), rig.keeper.held_count()) == (2, 0)
    entry = rig.journal(third)[MODEL_ENTRY]
    assert (entry.state, entry.attempt) == (EffectState.PLANNED, 0)
    assert rig.kinds(third)[-1] == "RequestHeld"
    (because, *_) = explain(task_facts(rig.store.context, third), rules_of(rig.settings)).because
    assert because.startswith(
        "All workers together have used the calls that are allowed for scripted within a minute; it waits"
    )
    fire(rig, third)
    assert rig.get(third).place == "timers", "a timer that comes too soon lets nothing through"
    window_over(rig)
    fire(rig, third)
    assert rig.get(third).status is Status.COMPLETED


def test_without_limits_no_turn_has_a_round_trip_more(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where they are those of other models, but that each call is announced by a commit of its own then."""
    one = calls(("t1", "act", {}))
    rig = make_rig(one, says("Done."), extra=[FakeTool()])
    made = counted(rig, monkeypatch)
    rig.run()
    assert made == ["create", "claim", "commit", "commit", "finish", "claim", "finish"]
    made.clear()
    other = make_rig(one, says("Done."), extra=[FakeTool()], model_limits=("another requests=1",))
    other.run()
    assert made == ["create", "claim", "commit", "commit", "finish", "claim", "commit", "finish"]
    made.clear()
    limited = make_rig(one, says("Done."), extra=[FakeTool()], model_limits=("* requests=9",))
    limited.run()
    turn = ["claim", "admit", "commit", "settle"]
    assert made == ["create", *turn, "commit", "finish", *turn, "finish"]


def test_what_a_provider_allows_is_noted_when_it_changes(make_rig: MakeRig) -> None:
    """Not at each reply, and not where limits are set."""
    told = [LearnedLimits(requests=50), LearnedLimits(requests=50), LearnedLimits(requests=60)]
    replies = [
        calls((f"t{n}", "act", {})).model_copy(update={"told": ToldLimits(limits=one)}) for n, one in enumerate(told)
    ]
    rig = make_rig(*replies, says("Done."), extra=[FakeTool()])
    noted: list[LearnedLimits] = []
    learn = rig.store.learn_limits
    object.__setattr__(
        rig.store, "learn_limits", lambda gate, one, **more: (noted.append(one), learn(gate, one, **more))
    )
    rig.run()
    assert noted == [told[0], told[2]]
    assert json.loads(rig.client.hget(rig.kit.keys.learned, GATE) or b"{}")["requests"] == 60
    limited = make_rig(replies[0], says("Done."), extra=[FakeTool()], model_limits=("scripted requests=5",))
    limited.run()
    assert not limited.client.exists(limited.kit.keys.learned)


def test_a_call_counts_with_what_it_used(make_rig: MakeRig) -> None:
    """Output as the provider counted it, not as much as it might have been; input without what came from the cache."""
    usage = Usage(input_tokens=30, cache_creation_input_tokens=4, cache_read_input_tokens=500, output_tokens=7)
    limits = ("scripted requests=5 input_tokens=100000 output_tokens=200000",)
    rig = make_rig(says("Done.", usage=usage), model_limits=limits)
    seen: list[tuple[int, int]] = []

    def call(*_: Any) -> Any:
        seen.append((used(rig, "input_tokens"), used(rig, "output_tokens")))
        return says("Done.", usage=usage)

    rig.model.steps[0] = call
    task_id = rig.run()
    ((expected, written),) = seen
    assert written == rig.get(task_id).spec.max_tokens
    assert 500 < expected < 50_000
    assert (used(rig), used(rig, "input_tokens"), used(rig, "output_tokens")) == (1, 34, 7)


@pytest.mark.parametrize(
    ("fault", "read", "wrote"),
    [
        (ModelFault(FaultKind.SERVER_ERROR, "failed"), True, 0),
        (ModelFault(FaultKind.NETWORK, "gone", usage={"input_tokens": 30, "output_tokens": 9}), 30, 9),
        (ModelFault(FaultKind.RATE_LIMITED, "too many", 600.0), False, 0),
    ],
    ids=["unanswered", "broken off", "refused"],
)
def test_a_call_that_failed_counts_too(make_rig: MakeRig, fault: ModelFault, read: int, wrote: int) -> None:
    """With what its reply had told; else with what it may have read."""
    rig = make_rig(fault, model_limits=("scripted requests=5 input_tokens=100000 output_tokens=200000",))
    rig.run()
    assert (used(rig), used(rig, "output_tokens")) == (1, wrote)
    found = used(rig, "input_tokens")
    assert found > 500 if read is True else found == read


def test_a_cancelled_call_counts_in_full(make_rig: MakeRig) -> None:
    """For a window: what it has written by then nobody knows."""
    rig = make_rig(model_limits=("scripted output_tokens=200000",))
    task_id = rig.submit()

    def cancelled(*_: Any) -> Any:
        rig.people.cancel(task_id)
        raise CancelRequested

    rig.model.steps[:] = [cancelled]
    rig.drain()
    assert rig.get(task_id).status is Status.CANCELLED
    assert used(rig, "output_tokens") == rig.get(task_id).spec.max_tokens
    assert not [name for name in rig.client.hkeys(rig.kit.keys.gate(GATE)) if name.startswith(b"t:")]


def test_a_call_that_is_sent_late_counts_from_then(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its share is taken once, and it is let in once more before it is sent."""
    monkeypatch.setattr(capacity_step, "STALE_S", -1.0)
    rig = make_rig(says("Done."), model_limits=("scripted requests=5",))
    made = counted(rig, monkeypatch)
    rig.run()
    assert (made.count("admit"), used(rig)) == (2, 1)


# --- deaths ---------------------------------------------------------------------------------------------


def two_turns(make_rig: MakeRig, recorder: Recorder) -> tuple[Rig, str]:
    """A task of two turns under limits, up to its end or its death."""

    def script(request: Any, *_: Any) -> Any:
        return says("Done.") if len(request.messages) > 1 else calls(("t1", "act", {}))

    limits = ("scripted requests=100 output_tokens=1000000",)
    rig = recorded(make_rig(*[script] * 5, extra=[FakeTool()], model_limits=limits), recorder)
    task_id = rig.submit()
    return rig.through(task_id), task_id


class Holding(NoRelay):
    """A relay that holds whatever call a dead worker had begun."""

    def settle(self, call_id: str) -> Finding:
        return Finding.RUNNING


def test_a_call_that_outlives_its_worker_counts_once_and_no_longer(make_rig: MakeRig) -> None:
    """The next turn goes on with it and settles its share: for a window, not until the longest call would be over."""

    def dies(*_: Any) -> Any:
        raise Killed

    limits = ("scripted requests=5 input_tokens=100000 output_tokens=200000",)
    rig = make_rig(dies, says("Done.", usage=Usage(input_tokens=30, output_tokens=9)), model_limits=limits)
    task_id = rig.submit()
    rig.dies()
    rig = rig.recover(task_id)
    object.__setattr__(rig.services, "relay", Holding())
    made_ms = rig.store.now_ms()
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.get(task_id).counters.model_resends == 0
    assert [used(rig, kind) for kind in ("requests", "input_tokens", "output_tokens")] == [1, 30, 9]
    assert [name for name in rig.client.hkeys(rig.kit.keys.gate(GATE)) if name.startswith(b"t:")] == []
    window_ms = rig.settings.model_limit_window_s * 1_000
    ends = [score for _, score in rig.client.zrange(rig.kit.keys.used(GATE), 0, -1, withscores=True)]
    assert all(made_ms < end <= rig.store.now_ms() + window_ms for end in ends)


def points(make_rig: MakeRig) -> list[CrashPoint]:
    recorder = Recorder()
    two_turns(make_rig, recorder)
    return list(crash_points(recorder.calls))


def test_whenever_a_worker_dies_shares_are_taken_once(make_rig: MakeRig, announce: Callable[[str], None]) -> None:
    """At both sides of each write and call: the task ends, each call that was sent counts, and none that was not."""
    all_points = points(make_rig)
    names = {point.call for point in all_points}
    assert {"TurnStore.admit_call", "TurnStore.settle_call", "TurnStore.commit", "ModelClient.call"} <= names
    for point in all_points:
        rig, task_id = two_turns(make_rig, CrashInjector(point, killed))
        assert rig.get(task_id).status is Status.COMPLETED, point
        sent = len(rig.model.requests)
        announced = rig.get(task_id).counters.model_resends + 2
        assert sent <= used(rig) == announced, point
        open_calls = [name for name in rig.client.hkeys(rig.kit.keys.gate(GATE)) if name.startswith(b"t:")]
        assert open_calls == [], point
        rig.check()
    announce(f"{len(all_points)} crash points of limits")
    assert len(all_points) >= 20
