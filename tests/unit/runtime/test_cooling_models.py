"""A refusal for too many calls is told to all workers: nobody calls until the provider's time, then one call does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.api.reads import rules_of
from neuraphage.cli.event_text import event_text
from neuraphage.decide.why import explain
from neuraphage.errors import FaultKind, ModelFault, StoreUnavailable
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.effect import MODEL_ENTRY, EffectState
from neuraphage.model.resume_point import ResumePointKind
from neuraphage.model.task import PausedDetail, Status
from neuraphage.ports import Delta
from neuraphage.store import queries
from neuraphage.store.task_facts import task_facts
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]
WAIT_S = 600.0
REFUSED = ModelFault(FaultKind.RATE_LIMITED, "too many", WAIT_S)
OVERLOADED = ModelFault(FaultKind.OVERLOADED, "busy", WAIT_S)


def until_ms(rig: Rig, task_id: str) -> float | None:
    return rig.client.zscore(rig.kit.keys.timers, task_id)


def fire(rig: Rig, *tasks: str) -> None:
    """These come due."""
    for task_id in tasks:
        rig.kit.due("timers", task_id)
    rig.sweep.timers(rig.store.now_ms())
    rig.drain()


def why(rig: Rig, task_id: str) -> str:
    (because, *_) = explain(task_facts(rig.store.context, task_id), rules_of(rig.settings)).because
    return because


@pytest.mark.parametrize("fault", [REFUSED, OVERLOADED], ids=["429", "529"])
def test_other_tasks_do_not_call_a_model_that_cools(make_rig: MakeRig, fault: ModelFault) -> None:
    """They wait in timers until the provider's time, held by nobody; no call and no attempt is counted."""
    rig = make_rig(fault, says("One."), says("Two."), says("Three."))
    first = rig.run()
    others = [rig.run() for _ in range(2)]
    assert len(rig.model.requests) == 1
    assert rig.keeper.held_count() == 0
    for task_id in others:
        assert (rig.get(task_id).status, rig.get(task_id).place) == (Status.RUNNING, "timers")
        entry = rig.journal(task_id)[MODEL_ENTRY]
        assert (entry.state, entry.attempt) == (EffectState.PLANNED, 0)
        assert rig.kinds(task_id)[-1] == "RequestHeld"
        assert "RequestSent" not in rig.kinds(task_id)
    assert until_ms(rig, first) == pytest.approx(until_ms(rig, others[0]), abs=1_000)
    rig.cooled()
    rig.retry_now(first)
    rig.drain()
    assert rig.get(first).status is Status.COMPLETED
    fire(rig, *others)
    assert {rig.get(task_id).status for task_id in others} == {Status.COMPLETED}
    assert len(rig.model.requests) == 4
    assert all(rig.get(task_id).counters.model_resends == 0 for task_id in (first, *others))


def test_one_call_finds_out_and_wakes_the_others(make_rig: MakeRig) -> None:
    """While it runs, all others wait for it; they are due as soon as it is taken, however long their timers were."""
    rig = make_rig(REFUSED, says("One."), *[says("Done.")] * 3)
    first = rig.run()
    others = [rig.run() for _ in range(3)]
    rig.cooled()
    seen: list[Any] = []

    def probing(_: Any, show: Callable[[Delta], None], __: Any) -> Any:
        other = rig.reborn()
        fire(other, *others)
        seen.extend(why(rig, task_id) for task_id in others)
        late = max(until_ms(rig, task_id) or 0 for task_id in others)
        assert late > rig.store.now_ms() + 60_000
        show(Delta("text", "On"))
        assert all((until_ms(rig, task_id) or 0) <= rig.store.now_ms() + 1_000 for task_id in others)
        return says("One.")

    rig.model.steps[1] = probing
    rig.retry_now(first)
    rig.drain()
    assert [("one call finds out" in text) for text in seen] == [True] * 3
    assert len(rig.model.requests) == 2
    fire(rig, *others)
    assert len(rig.model.requests) == 5
    assert not rig.client.exists(rig.kit.keys.cooling)


def test_a_probe_that_is_refused_cools_on(make_rig: MakeRig) -> None:
    """By the provider's new time; of all that wait one call was made."""
    rig = make_rig(REFUSED, REFUSED, says("One."), says("Two."))
    first, other = rig.run(), rig.run()
    rig.cooled()
    rig.retry_now(first)
    rig.drain()
    fire(rig, other)
    assert len(rig.model.requests) == 2
    assert (until_ms(rig, other) or 0) > rig.store.now_ms() + WAIT_S * 900
    assert why(rig, other).startswith("The provider refused a call of scripted (429, too many) and asked everybody to")


def test_a_probe_whose_worker_is_killed_is_taken_over(make_rig: MakeRig) -> None:
    """Its task is recovered, and has the right still; nobody else calls meanwhile."""

    def dies(*_: Any) -> Any:
        raise Killed

    rig = make_rig(REFUSED, dies, says("One."), says("Two."))
    first, other = rig.run(), rig.run()
    rig.cooled()
    rig.retry_now(first)
    rig.dies()
    fire(rig, other)
    assert len(rig.model.requests) == 2
    rig = rig.recover(first)
    rig.drain()
    assert rig.get(first).status is Status.COMPLETED
    fire(rig, other)
    assert rig.get(other).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("fault", "opens"),
    [
        (ModelFault(FaultKind.BAD_REQUEST, "wrong"), True),
        (ModelFault(FaultKind.SERVER_ERROR, "failed"), False),
        (ModelFault(FaultKind.NETWORK, "gone"), False),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
def test_what_a_probe_comes_to_says_whether_calls_are_taken(make_rig: MakeRig, fault: ModelFault, opens: bool) -> None:
    """A request that was refused for itself was looked at; of one that broke off nobody knows, and it is made again."""
    rig = make_rig(REFUSED, fault, says("One."), says("Two."))
    first = rig.run()
    rig.cooled()
    rig.retry_now(first)
    rig.drain()
    assert bool(rig.client.exists(rig.kit.keys.cooling)) is not opens


def test_a_call_that_the_claim_had_announced_is_taken_back(make_rig: MakeRig) -> None:
    """The second turn goes straight on, and finds the model cooling: nobody takes that call for billed."""
    rig = make_rig(calls(("t1", "act", {})), REFUSED, says("Done."), extra=[FakeTool()])
    task_id = rig.submit()
    rig.step()
    rig.submit()
    rig.dispatcher.messages.reverse()
    rig.drain()
    assert rig.get(task_id).place == "timers"
    assert rig.journal(task_id)[MODEL_ENTRY].state is EffectState.PLANNED
    assert len(rig.model.requests) == 2


def test_nothing_is_asked_of_a_model_that_was_never_refused(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a round trip more, whatever other models do, and whatever faults of its own a task has."""
    rig = make_rig(ModelFault(FaultKind.SERVER_ERROR, "failed"), says("One."))
    rig.store.cool_model("another:model", CapacityReason.RATE_LIMITED, WAIT_S)
    for name in ("admit_call", "settle_call", "cool_model", "open_model"):
        monkeypatch.setattr(rig.store, name, None)
    task_id = rig.run()
    rig.retry_now(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_reply_is_kept_although_nobody_can_be_told(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told to others is advice."""
    rig = make_rig(REFUSED, says("One."))
    first = rig.run()
    rig.cooled()

    def away(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(rig.store, "open_model", away)
    rig.retry_now(first)
    rig.drain()
    assert rig.get(first).status is Status.COMPLETED


def test_people_are_told_what_a_task_waits_for(make_rig: MakeRig) -> None:
    """By why, the history and, once it is paused, the point that it goes on from; told once, however often it asks."""
    rig = make_rig(OVERLOADED, says("One."))
    first, other = rig.run(), rig.run()
    for task_id in (first, other):
        assert "(529, overloaded) and asked everybody to wait until " in why(rig, task_id)
    fire(rig, other)
    held = [one for one in queries.events(rig.store.context, other) if one.kind == "RequestHeld"]
    assert [event_text(one) for one in held] == ["waits for the model: the provider is overloaded (529)"]
    rig.people.pause(other)
    detail = rig.get(other).detail
    assert isinstance(detail, PausedDetail)
    assert detail.resume_point.kind is ResumePointKind.CONTEXT_ASSEMBLY
