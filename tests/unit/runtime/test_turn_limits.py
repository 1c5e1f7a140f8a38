"""Limits of turns and money hold before each call; zero means stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.limits import Limits
from neuraphage.model.task import FailedDetail
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]


def looping(rig_of: MakeRig, count: int = 8) -> Rig:
    """A model that calls a tool for ever."""
    return rig_of(*[calls((f"t{i}", "act", {})) for i in range(count)], extra=[FakeTool()])


@pytest.mark.parametrize(
    ("limits", "made"),
    [
        ({"max_turns": 0}, 0),
        ({"max_turns": 3}, 3),
        ({"max_cost_microusd": 0}, 0),
        ({"max_cost_microusd": 250}, 3),
    ],
)
def test_no_call_is_made_past_a_limit(make_rig: MakeRig, limits: dict[str, Any], made: int) -> None:
    """Each reply costs 100 here: the call that would begin at or past the limit is not made."""
    rig = looping(make_rig)
    record = rig.get(rig.run(limits=Limits(**limits)))
    assert len(rig.model.requests) == made
    assert isinstance(record.detail, FailedDetail)
    assert record.detail.recoverable
    assert "limit" in record.detail.error
    assert record.counters.cost_microusd == 100 * made


def test_a_reply_over_the_limit_is_not_stored(make_rig: MakeRig) -> None:
    """An entry has a largest size. One over it fails the task; size and limit are told, and its cost counts."""
    rig = make_rig(says("x" * 2_000), max_entry_bytes=1_500)
    task_id = rig.run()
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert detail.recoverable
    assert "max_entry_bytes is 1500" in detail.error
    assert "Raise max_entry_bytes" in detail.error
    assert (len(rig.model.requests), [entry["role"] for entry in rig.entries(task_id)]) == (1, ["user"])
    counters = rig.get(task_id).counters
    assert (counters.cost_microusd, counters.input_tokens, counters.output_tokens) == (100, 80, 20)
    assert counters.model_calls == 0


def test_counters_add_up_over_turns_and_processes(make_rig: MakeRig) -> None:
    """Tokens, money, calls and tool runs are sums of what was committed, whoever committed it."""
    rig = looping(make_rig, 2)
    rig.model.steps.append(says("Done."))
    task_id = rig.submit()
    rig.step()
    rig.reborn().drain()
    counters = rig.get(task_id).counters
    assert (counters.iteration, counters.model_calls, counters.tool_runs) == (3, 3, 2)
    assert (counters.input_tokens, counters.output_tokens, counters.cost_microusd) == (240, 60, 300)


def fault(kind: FaultKind, retry_after_s: float | None = None) -> ModelFault:
    return ModelFault(kind, "on order", retry_after_s)


def test_passing_faults_wait_out_timers_and_keep_the_request(make_rig: MakeRig) -> None:
    """Three attempts under one request id, then a failure that a person may retry."""
    rig = make_rig(*[fault(FaultKind.NETWORK)] * 3, says("Done."))
    task_id = rig.run()
    for _ in range(2):
        assert rig.get(task_id).place == "timers"
        rig.retry_now(task_id)
        rig.drain()
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert detail.recoverable
    assert "3 calls" in detail.error
    assert len({request.request_id for request in rig.model.requests}) == 1
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).detail.summary == "Done."


def test_rate_limits_use_up_no_attempt(make_rig: MakeRig) -> None:
    """A 429 waits as long as it says and the other faults keep their count."""
    rig = make_rig(*[fault(FaultKind.RATE_LIMITED, 7.0)] * 5, fault(FaultKind.NETWORK), says("Done."))
    task_id = rig.run()
    for _ in range(6):
        rig.retry_now(task_id)
        rig.drain()
    assert rig.get(task_id).detail.summary == "Done."


def test_rate_limits_for_ever_come_to_an_end(make_rig: MakeRig) -> None:
    """A hundred refusals in a row are no passing state: the task fails instead of waiting for ever."""
    rig = make_rig(*[fault(FaultKind.RATE_LIMITED, 0.0)] * 200)
    task_id = rig.run()
    while rig.get(task_id).place == "timers":
        rig.retry_now(task_id)
        rig.drain()
    assert len(rig.model.requests) == 101
    assert rig.get(task_id).detail.recoverable


@pytest.mark.parametrize(
    ("kind", "recoverable"),
    [
        (FaultKind.BAD_REQUEST, False),
        (FaultKind.TOO_LARGE, True),
        (FaultKind.CONTEXT_OVERFLOW, True),
        (FaultKind.NOT_FOUND, False),
        (FaultKind.AUTHENTICATION, True),
        (FaultKind.PERMISSION, True),
    ],
)
def test_faults_that_repeating_cannot_help_fail_at_once(make_rig: MakeRig, kind: FaultKind, recoverable: bool) -> None:
    """One call, then Failed; a person can mend a key, not a request."""
    rig = make_rig(fault(kind))
    detail = rig.get(rig.run()).detail
    assert isinstance(detail, FailedDetail)
    assert detail.recoverable is recoverable
    assert len(rig.model.requests) == 1


def test_a_failed_call_is_not_called_before_its_time(make_rig: MakeRig) -> None:
    """A turn that comes early (a doubled message, a wiped broker) waits out the timer again."""
    rig = make_rig(fault(FaultKind.OVERLOADED), says("Done."))
    task_id = rig.run()
    rig.kit.due("timers", task_id)
    rig.sweep.timers(rig.store.now_ms())
    rig.drain()
    assert rig.get(task_id).place == "timers"
    assert len(rig.model.requests) == 1
