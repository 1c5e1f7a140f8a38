"""From a message to a turn: what a leaving process does with one, and how long the lease of a late answer runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from neuraphage.decide import compacted
from neuraphage.decide.actions import Action
from neuraphage.decide.end_actions import NextTurn
from neuraphage.decide.machine import decide
from neuraphage.decide.snapshot import Snapshot
from neuraphage.errors import StoreUnavailable
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.ports import Claimed, ClaimVerdict, GoneOn, Lease, Renewal
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.outcome import Outcome
from neuraphage.runtime.runner import TurnRunner
from neuraphage.runtime.turn_chain import LONGEST_S, MOST_TURNS
from neuraphage.testing import ManualClock
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]


def test_a_message_that_a_leaving_process_gets_is_passed_on(make_rig: MakeRig) -> None:
    """Nothing is claimed, and it is sent when this process cannot take it in itself any more."""
    rig = make_rig()
    task_id = rig.submit()
    sent_when_asked: list[int] = []
    message = rig.dispatcher.messages.pop()

    def closed() -> bool:
        sent_when_asked.append(len(rig.dispatcher.messages))
        return len(sent_when_asked) == 3

    runner = TurnRunner(rig.services, rig.keeper, "leaving", closed)
    rig.keeper.drain()
    assert runner.run(*message) == Outcome.DRAINING.value
    assert sent_when_asked == [0, 0, 0]
    assert rig.dispatcher.messages == [message]
    record = rig.get(task_id)
    assert (record.status, record.place, record.fence) == (Status.QUEUED, "outbox", 0)


def test_a_process_that_stays_holds_no_message_back(make_rig: MakeRig) -> None:
    """Whether it takes in messages is asked only by one that leaves; it may well take the next one in itself."""
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool()])

    def asked() -> bool:
        raise AssertionError("asked")

    task_id = rig.submit()
    rig.runner = TurnRunner(rig.services, rig.keeper, "stays", asked)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_lease_runs_from_the_first_try_of_its_claim(make_rig: MakeRig) -> None:
    """The answer to it was lost, and the repeat's may come when the lease is over: nothing starts unrenewed."""
    rig = make_rig(says("Done."))
    clock = ManualClock(SystemClock().boottime_s())
    object.__setattr__(rig.services, "clock", clock)
    rig.keeper._clock = rig.store.clock = clock
    claim, renew, told = rig.store.claim, rig.store.renew, []

    def slow(*asked: Any) -> Claimed:
        answer = claim(*asked)
        told.append("claim")
        if len(told) == 1:
            clock.advance(rig.settings.lease_s)
            raise StoreUnavailable("the answer was lost")
        return answer

    def asks(leases: Sequence[Lease]) -> tuple[float, list[Renewal]]:
        told.append("renew")
        return renew(leases)

    rig.store.claim, rig.store.renew = slow, asks  # type: ignore[method-assign]  # a lost answer
    task_id = rig.submit()
    rig.step()
    assert told == ["claim", "claim", "renew"]
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_message_tells_people_what_it_comes_after(make_rig: MakeRig) -> None:
    """Of a turn, the last marker that it has reached; who looks at the broker sees where the task stands."""
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool()])
    task_id = rig.submit()
    rig.step()
    assert rig.dispatcher.published[1:] == [(task_id, 1, rig.get(task_id).seq)]
    assert rig.dispatcher.after[1:] == ["tool_completed"]
    rig.drain()
    assert len(rig.dispatcher.after) == 2, "the task is over"


# --- several turns in one message ---


def killed() -> bool:
    raise Killed


def three_turns(make_rig: MakeRig, **settings: Any) -> Rig:
    """A task of three turns."""
    turns = (calls((f"t{number}", "act", {})) for number in range(2))
    return make_rig(*turns, says("Done."), extra=[FakeTool()], **settings)


def test_each_turn_has_a_message_of_its_own(make_rig: MakeRig) -> None:
    """Unless it is set otherwise: Flower shows each, and other tasks come in between."""
    rig = three_turns(make_rig)
    task_id = rig.submit()
    outcomes = [rig.step() for _ in range(3)]
    assert [outcome.partition(":")[0] for outcome in outcomes] == ["finished", "finished", "task completed"]
    assert rig.get(task_id).status is Status.COMPLETED


def test_turns_follow_in_one_message_while_none_waits(make_rig: MakeRig) -> None:
    """The message tells what the last of them came to, and none is left behind."""
    rig = three_turns(make_rig, turns_per_message="auto")
    task_id = rig.submit()
    assert rig.step().startswith("task completed")
    assert (rig.get(task_id).status, rig.dispatcher.messages) == (Status.COMPLETED, [])


def test_another_task_goes_first(make_rig: MakeRig) -> None:
    """A message that waits is taken before the next turn of the same task."""
    rig = three_turns(make_rig, turns_per_message="auto")
    first, second = rig.submit(), rig.submit()
    assert rig.step().startswith("finished")
    assert [task_id for task_id, _ in rig.dispatcher.messages] == [second, first]


@pytest.mark.parametrize("why", ["drains", "was long", "broker away"])
def test_what_ends_a_message_early(make_rig: MakeRig, why: str) -> None:
    """The next turn gets a message of its own, which the sweep makes where the broker took none."""
    rig = three_turns(make_rig, turns_per_message="auto")
    act = rig.extra[0]

    def run(*_: Any) -> ToolResult:
        match why:
            case "drains":
                rig.keeper.drain()
            case "was long":
                now = rig.services.clock.boottime_s()
                object.__setattr__(rig.services, "clock", ManualClock(now + LONGEST_S))
            case _:
                rig.dispatcher.refusing = True
        return ToolResult(text="acted")

    act.act = run
    task_id = rig.submit()
    rig.step()
    record = rig.get(task_id)
    assert (record.place, record.counters.iteration) == ("outbox", 1 if why != "drains" else 0)
    assert [task for task, _ in rig.dispatcher.messages] == ([] if why == "broker away" else [task_id])


def test_a_process_that_begins_to_leave_claims_no_further_turn(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The drain came when the end of the turn was decided already: what it claimed it would only give back."""
    rig = three_turns(make_rig, turns_per_message="auto")

    def decided(snapshot: Snapshot) -> Action:
        action = decide(snapshot)
        if isinstance(action, NextTurn):
            rig.keeper.drain()
        return action

    monkeypatch.setattr("neuraphage.runtime.turn.decide", decided)
    task_id = rig.submit()
    rig.step()
    record = rig.get(task_id)
    assert (record.place, record.counters.iteration, record.fence) == ("outbox", 1, 1)


def test_a_message_has_a_bounded_number_of_turns(make_rig: MakeRig) -> None:
    """Twenty, or as many as take half a minute: then the next turn is announced like any other."""
    assert (MOST_TURNS, LONGEST_S) == (20, 30.0)
    turns = [calls((f"t{number}", "act", {})) for number in range(MOST_TURNS + 1)]
    rig = make_rig(*turns, says("Done."), extra=[FakeTool()], turns_per_message="auto")
    task_id = rig.submit()
    rig.step()
    assert rig.get(task_id).counters.iteration == MOST_TURNS
    assert len(rig.dispatcher.messages) == 1


def test_turns_together_are_one_write_each(make_rig: MakeRig) -> None:
    """The end of a turn and the claim of the next one are one; the first is claimed and the last is finished."""
    rig = three_turns(make_rig, turns_per_message="auto")
    asked = watched(rig)
    task_id = rig.submit()
    rig.step()
    assert asked == ["claim", "go_on", "go_on", "finish"]
    assert rig.kit.number(task_id, "fence") == 3


@pytest.mark.parametrize("together", ["auto", 1])
def test_a_context_is_put_together_once(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch, together: object) -> None:
    """A turn looks at what is new since the last one of the same process, however long the conversation is."""
    looked: list[int] = []
    sendable = compacted.sendable

    def counted(entry: Any, *, plain: bool = False) -> Any:
        looked[-1] += 1
        return sendable(entry, plain=plain)

    def act(*_: Any) -> ToolResult:
        looked.append(0)
        return ToolResult(text="acted")

    monkeypatch.setattr(compacted, "sendable", counted)
    turns = [calls((f"t{number}", "act", {"number": number})) for number in range(12)]
    rig = make_rig(*turns, says("Done."), extra=[FakeTool(act=act)], turns_per_message=together)
    looked.append(0)
    rig.run()
    assert len(looked) == 13
    assert max(looked) <= 3


def watched(rig: Rig) -> list[str]:
    """Names of the writes that begin and end turns, as they are made from now on."""
    asked: list[str] = []

    def noting(name: str) -> Callable[..., Any]:
        write = getattr(rig.store, name)

        def noted(*given: Any, **more: Any) -> Any:
            asked.append(name)
            return write(*given, **more)

        return noted

    for name in ("claim", "go_on", "finish"):
        setattr(rig.store, name, noting(name))
    return asked


def test_the_keeper_knows_of_the_next_claim_before_it_is_sent(make_rig: MakeRig) -> None:
    """Its lease is renewed also when its answer cannot be read for long; of a turn that is over nothing is kept."""
    rig = three_turns(make_rig, turns_per_message="auto")
    go_on, known = rig.store.go_on, []

    def looks(*given: Any, claim_id: str, **more: Any) -> GoneOn:
        known.append((claim_id in rig.keeper._claiming, len(rig.keeper._claiming)))
        return go_on(*given, claim_id=claim_id, **more)

    rig.store.go_on = looks  # type: ignore[method-assign]
    rig.submit()
    rig.step()
    assert known == [(True, 2), (True, 2)]
    assert (rig.keeper._claiming, rig.keeper._held) == ({}, {})


@pytest.mark.parametrize(("slow", "renewals"), [(False, 0), (True, 1)])
def test_a_lost_answer_is_asked_for_again(make_rig: MakeRig, slow: bool, renewals: int) -> None:
    """It is the same turn and the same claim; that lease runs from the first try, so a late one is renewed first."""
    rig = three_turns(make_rig, turns_per_message="auto")
    clock = ManualClock(SystemClock().boottime_s())
    object.__setattr__(rig.services, "clock", clock)
    rig.keeper._clock = rig.store.clock = clock
    go_on, renew, tries, renewed = rig.store.go_on, rig.store.renew, [], []

    def loses_the_first_answer(*given: Any, claim_id: str, **more: Any) -> GoneOn:
        answer = go_on(*given, claim_id=claim_id, **more)
        tries.append(claim_id)
        if len(tries) == 1:
            clock.advance(rig.settings.lease_s if slow else 0.0)
            raise StoreUnavailable("the answer was lost")
        return answer

    def counted(leases: Sequence[Lease]) -> tuple[float, list[Renewal]]:
        renewed.append(leases)
        return renew(leases)

    rig.store.go_on, rig.store.renew = loses_the_first_answer, counted  # type: ignore[method-assign]
    task_id = rig.submit()
    rig.step()
    assert (len(tries), len(set(tries)), len(renewed)) == (3, 2, renewals)
    record = rig.get(task_id)
    assert (record.status, record.fence, record.counters.model_calls) == (Status.COMPLETED, 3, 3)


def test_a_death_before_the_end_of_a_turn_repeats_what_was_not_stored(make_rig: MakeRig) -> None:
    """Whether a message waits is asked before the turn is ended: it is unfinished, and goes on from its journal."""
    rig = three_turns(make_rig, turns_per_message="auto")
    task_id = rig.submit()
    rig.dispatcher.has_waiting = killed  # type: ignore[method-assign]
    rig.dies()
    record = rig.get(task_id)
    assert (record.place, record.counters.iteration, rig.dispatcher.messages) == ("leases", 0, [])
    rig.dispatcher.has_waiting = lambda: False  # type: ignore[method-assign]
    other = rig.recover(task_id)
    other.drain()
    record = rig.get(task_id)
    assert (record.status, record.counters.model_calls, record.counters.recoveries_total) == (Status.COMPLETED, 3, 1)


def test_a_death_behind_the_end_of_a_turn_loses_nothing(make_rig: MakeRig) -> None:
    """The next turn is under a lease like any other, and is taken from the process that is gone."""
    rig = three_turns(make_rig, turns_per_message="auto")
    go_on = rig.store.go_on

    def dies_behind_it(*given: Any, **more: Any) -> GoneOn:
        go_on(*given, **more)
        raise Killed

    rig.store.go_on = dies_behind_it  # type: ignore[method-assign]
    task_id = rig.submit()
    rig.dies()
    record = rig.get(task_id)
    assert (record.place, record.counters.iteration, rig.dispatcher.messages) == ("leases", 1, [])
    rig.recover(task_id).drain()
    record = rig.get(task_id)
    assert (record.status, record.counters.model_calls, record.counters.recoveries_total) == (Status.COMPLETED, 3, 1)
    assert len(rig.extra[0].runs) == 2


def test_a_turn_that_another_worker_has_is_left_to_it(make_rig: MakeRig) -> None:
    """The turn had been ended before, and the next one was taken since: the message tells of its own turn."""
    rig = three_turns(make_rig, turns_per_message="auto")
    rig.submit()
    go_on = rig.store.go_on

    def refused(*given: Any, **more: Any) -> GoneOn:
        return replace(go_on(*given, **more), claimed=Claimed(ClaimVerdict.LEASED))

    rig.store.go_on = refused  # type: ignore[method-assign]
    assert rig.step().startswith("finished")
    assert rig.dispatcher.messages == []


def test_a_pause_ends_the_message(make_rig: MakeRig) -> None:
    """It came while the last tool ran: the turn is ended, and the next one is not begun."""
    rig = three_turns(make_rig, turns_per_message="auto")
    task_id = rig.submit()

    def run(*_: Any) -> ToolResult:
        rig.people.pause(task_id)
        return ToolResult(text="acted")

    rig.extra[0].act = run
    assert rig.step().startswith("paused")
    assert (rig.get(task_id).status, rig.get(task_id).counters.iteration) == (Status.PAUSED, 1)
    assert (rig.keeper._claiming, rig.dispatcher.messages) == ({}, [])


@pytest.mark.parametrize(
    ("field", "value", "outcome", "status"),
    [
        ("created_at", "never", "task failed", Status.FAILED),
        ("schema", "999", "written by a newer release", Status.RUNNING),
    ],
)
def test_a_next_turn_that_cannot_be_read(
    make_rig: MakeRig, field: str, value: str, outcome: str, status: Status
) -> None:
    """A broken record ends its task, and what a newer release wrote is left to a newer worker."""
    rig = three_turns(make_rig, turns_per_message="auto")
    task_id = rig.submit()
    rig.extra[0].act = lambda *_: (
        (rig.client.hset(rig.kit.keys.task(task_id), field, value) and None) or ToolResult(text="acted")
    )
    assert rig.step().startswith(outcome)
    assert rig.kit.status(task_id) is status
    assert rig.kit.place(task_id) == ("" if status is Status.FAILED else "outbox")
    rig.client.flushall()  # a record that cannot be read breaks the rules that are looked at behind each test
