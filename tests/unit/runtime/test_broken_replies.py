"""A reply that breaks off, or that cannot be kept, may be billed: it is counted, and its repetition too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interruptkit import heard
from neuraphage.errors import CancelRequested, FaultKind, ModelFault
from neuraphage.model.limits import Limits
from neuraphage.model.message import ModelReply
from neuraphage.model.task import FailedDetail, Status
from neuraphage.store import queries
from neuraphage.store.ledger import ledger
from turnkit import Rig, says

MakeRig = Callable[..., Rig]

TOLD = {
    "input_tokens": 40,
    "output_tokens": 5,
    "cache_creation_input_tokens": 7,
    "cache_read_input_tokens": 3,
}


def broken(kind: FaultKind = FaultKind.NETWORK) -> ModelFault:
    """A stream that breaks after message_start. Input and output tokens cost 1 each here, cached ones nothing."""
    return ModelFault(kind, "on order", usage=TOLD, model="scripted-1")


def go_on(rig: Rig, task_id: str) -> None:
    """Let the retry's time come."""
    rig.retry_now(task_id)
    rig.drain()


def test_a_broken_reply_and_its_repetition_are_counted(make_rig: MakeRig) -> None:
    """Tokens and cost as far as they were told, one call resent, and only one reply committed."""
    rig = make_rig(broken(), says("Done."))
    task_id = rig.run()
    counters = rig.get(task_id).counters
    assert (counters.cost_microusd, counters.model_resends, counters.model_calls) == (45, 0, 0)
    go_on(rig, task_id)
    counters = rig.get(task_id).counters
    assert (counters.input_tokens, counters.output_tokens) == (120, 25)
    assert (counters.cache_write_tokens, counters.cache_read_tokens) == (7, 3)
    assert (counters.cost_microusd, counters.model_resends, counters.model_calls) == (145, 1, 1)
    assert len({request.request_id for request in rig.model.requests}) == 1
    events = queries.events(rig.store.context, task_id)
    assert [e.data["cost_microusd"] for e in events if e.kind in ("RequestFailed", "ResponseReceived")] == [45, 100]


def test_a_reply_that_had_told_nothing_is_counted_as_resent(make_rig: MakeRig) -> None:
    """A provider that tells no usage at the start may bill all the same."""
    rig = make_rig(ModelFault(FaultKind.TRUNCATED, "on order", usage={}), says("Done."))
    task_id = rig.run()
    go_on(rig, task_id)
    counters = rig.get(task_id).counters
    assert (counters.model_resends, counters.cost_microusd) == (1, 100)


def test_a_call_that_failed_before_its_reply_is_no_resend(make_rig: MakeRig) -> None:
    """Nothing had been written: a refusal that is repeated is not taken for a double billing."""
    rig = make_rig(ModelFault(FaultKind.NETWORK, "refused"), says("Done."))
    task_id = rig.run()
    go_on(rig, task_id)
    counters = rig.get(task_id).counters
    assert (counters.model_resends, counters.cost_microusd, counters.model_calls) == (0, 100, 1)


def test_each_repetition_counts_by_what_it_repeats(make_rig: MakeRig) -> None:
    """Of three calls the second broke off in its reply: one call may be billed twice, not two."""
    rig = make_rig(ModelFault(FaultKind.OVERLOADED, "busy"), broken(), says("Done."))
    task_id = rig.run()
    go_on(rig, task_id)
    go_on(rig, task_id)
    assert rig.get(task_id).counters.model_resends == 1


def test_a_broken_reply_counts_towards_the_limit(make_rig: MakeRig) -> None:
    """The call is not made again when what broke off has used the money up."""
    rig = make_rig(broken(), says("Done."))
    task_id = rig.run(limits=Limits(max_cost_microusd=45))
    go_on(rig, task_id)
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert "limit" in detail.error
    assert len(rig.model.requests) == 1


@pytest.mark.parametrize("kind", [FaultKind.BAD_REQUEST, FaultKind.NETWORK])
def test_the_cost_is_kept_when_the_task_fails(make_rig: MakeRig, kind: FaultKind) -> None:
    """A call that is given up leaves what it cost, whether at once or after all its attempts."""
    rig = make_rig(*[broken(kind)] * 3)
    task_id = rig.run()
    while rig.get(task_id).place == "timers":
        go_on(rig, task_id)
    record = rig.get(task_id)
    assert isinstance(record.detail, FailedDetail)
    assert record.counters.cost_microusd == 45 * len(rig.model.requests)
    assert record.counters.model_resends == len(rig.model.requests) - 1


@pytest.mark.parametrize("usage", [TOLD, None], ids=["in its midst", "before it began"])
def test_a_reply_that_a_cancel_broke_off_is_counted(make_rig: MakeRig, usage: dict[str, int] | None) -> None:
    """What it had told of is in the task and in the ledger; of a call without a reply nothing is."""

    def step(request: Any, show: Any, interrupt: Any) -> ModelReply:
        heard(rig, lambda: rig.people.cancel(task_id))()
        try:
            interrupt.check()
        except CancelRequested as cancelled:
            cancelled.usage, cancelled.model = usage, "scripted-1"
            raise
        return says("Too late.")

    rig = make_rig(step)
    task_id = rig.submit()
    rig.drain()
    record = rig.get(task_id)
    assert (record.status, record.counters.model_calls) == (Status.CANCELLED, 0)
    told_microusd = 0 if usage is None else 45
    assert record.counters.cost_microusd == told_microusd
    assert sum(row.spent.cost_microusd for row in ledger(rig.store.context) if row.kind == "d") == told_microusd
    told = [e.data["cost_microusd"] for e in queries.events(rig.store.context, task_id) if e.kind == "RequestFailed"]
    assert told == ([] if usage is None else [45])
    (entry,) = rig.journal(task_id).values()
    assert entry.state == ("started" if usage is None else "failed")
