"""From a message to a turn: what a leaving process does with one, and how long the lease of a late answer runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from neuraphage.errors import StoreUnavailable
from neuraphage.model.task import Status
from neuraphage.ports import Claimed, Lease, Renewal
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.outcome import Outcome
from neuraphage.runtime.runner import TurnRunner
from neuraphage.testing import ManualClock
from turnkit import FakeTool, Rig, calls, says

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
