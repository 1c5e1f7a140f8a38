"""From a message to a turn: what a leaving process does with one, and how long the lease of a late answer runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from neuraphage.errors import StoreUnavailable
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.ports import Claimed, ClaimVerdict, Lease, Renewal
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.outcome import Outcome
from neuraphage.runtime.runner import LONGEST_S, MOST_TURNS, TurnRunner
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

    def slow(task_id: str, seq: int, process_id: str, claim_id: str) -> Claimed:
        answer = claim(task_id, seq, process_id, claim_id)
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


def test_a_message_has_a_bounded_number_of_turns(make_rig: MakeRig) -> None:
    """Then the next turn is announced like any other."""
    turns = [calls((f"t{number}", "act", {})) for number in range(MOST_TURNS + 1)]
    rig = make_rig(*turns, says("Done."), extra=[FakeTool()], turns_per_message="auto")
    task_id = rig.submit()
    rig.step()
    assert rig.get(task_id).counters.iteration == MOST_TURNS
    assert len(rig.dispatcher.messages) == 1


def test_a_death_between_two_turns_of_a_message_loses_nothing(make_rig: MakeRig) -> None:
    """The entry of the next turn is in the outbox before it is claimed: the sweep sends it."""
    rig = three_turns(make_rig, turns_per_message="auto")
    task_id = rig.submit()
    rig.dispatcher.has_waiting = killed  # type: ignore[method-assign]
    rig.dies()
    assert (rig.get(task_id).place, rig.dispatcher.messages) == ("outbox", [])
    other = rig.reborn()
    other.dispatcher.has_waiting = lambda: False
    rig.client.zadd(rig.kit.keys.outbox, {task_id: 1})
    other.sweep.run(guarded=False)
    other.drain()
    record = rig.get(task_id)
    assert (record.status, record.counters.model_calls, record.counters.recoveries_total) == (Status.COMPLETED, 3, 0)


def test_a_turn_that_the_sweep_gave_to_another_worker_is_left_to_it(make_rig: MakeRig) -> None:
    """Its message was sent while this worker was slow: the claim is refused, and the message tells of its own turn."""
    rig = three_turns(make_rig, turns_per_message="auto")
    rig.submit()
    claim, count = rig.store.claim, itertools.count()

    def refused_later(*given: Any) -> Claimed:
        return claim(*given) if next(count) == 0 else Claimed(ClaimVerdict.LEASED)

    rig.store.claim = refused_later  # type: ignore[method-assign]
    assert rig.step().startswith("finished")
    assert rig.dispatcher.messages == []
