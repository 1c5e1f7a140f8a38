"""Turns whose request would be too long: what is called, stored, announced and counted, through faults and deaths."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from neuraphage.decide.begun_call import Finding
from neuraphage.decide.summary_request import SUMMARY_SYSTEM
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.effect import SUMMARY_ENTRY, EffectState, MarkerName
from neuraphage.model.limits import Limits
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.model.usage import Usage
from neuraphage.ports.relay import NoRelay
from neuraphage.redaction.redactor import Redactor
from neuraphage.store import queries
from neuraphage.store.encode import journal_bytes
from turnkit import FakeModel, FakeTool, Killed, Rig, calls, new_rig, says

MakeRig = Callable[..., Rig]
BIG = Usage(input_tokens=190_000, output_tokens=10)
LONG = "word " * 8_000
SUMMARY = says("All that was done: the plan.")


def step(number: int, **more: Any) -> ModelReply:
    return calls((f"t{number}", "act", {}), **more)


def big(reply: ModelReply) -> ModelReply:
    """The same reply, of which the provider says that it has nearly filled the window."""
    return reply.model_copy(update={"usage": BIG})


def dies(*_: Any) -> ModelReply:
    raise Killed


BEFORE = (step(0, text=LONG), step(1), big(step(2)))
"""After these a summary of the first turns is made."""


def asks_for_summary(request: ModelRequest) -> bool:
    return request.system[0]["text"] == SUMMARY_SYSTEM


def asked(rig: Rig) -> str:
    """What was asked of the model: a dot for a reply, an s for a summary."""
    return "".join("s" if asks_for_summary(request) else "." for request in rig.model.requests)


@pytest.fixture
def rig_of(make_rig: MakeRig) -> Callable[..., Rig]:
    return lambda *steps, **more: make_rig(*steps, extra=[FakeTool()], **more)


def test_a_summary_is_made_before_the_request_that_would_be_too_long(rig_of: MakeRig) -> None:
    """Announced, stored and counted like a reply; what it stands for stays stored, and is not sent any more."""
    rig = rig_of(*BEFORE, SUMMARY, says("Done."))
    task_id = rig.run("Build it, in blue.")
    record = rig.get(task_id)
    assert record.status is Status.COMPLETED
    assert asked(rig) == "...s."
    assert record.counters.model_calls == 5
    assert (record.counters.model_resends, record.counters.iteration) == (0, 4)
    ids = [request.request_id for request in rig.model.requests]
    assert len(set(ids)) == 5
    last = str(rig.model.requests[-1].messages)
    assert "Build it, in blue." in last
    assert "All that was done: the plan." in last
    assert LONG not in last
    assert LONG in str(rig.entries(task_id))
    assert LONG[:1_000] in str(rig.model.requests[-2].messages)
    kinds = rig.kinds(task_id)
    assert kinds.count("ContextCompacted") == 1
    assert kinds.count("ResponseReceived") == 5
    rig.check()


@pytest.mark.parametrize("together", [1, "auto"])
def test_an_announced_call_that_is_not_sent_yet_is_put_back(rig_of: MakeRig, together: object) -> None:
    """The claim has announced the reply's call; the worker dies in that for the summary: it alone may be billed."""
    rig = rig_of(*BEFORE, dies, SUMMARY, says("Done."), turns_per_message=together)
    task_id = rig.submit()
    for _ in range(4):
        try:
            rig.step()
        except Killed:
            break
    journal = rig.journal(task_id)
    assert journal[SUMMARY_ENTRY].state is EffectState.STARTED
    assert journal["model"].state is EffectState.PLANNED
    assert rig.get(task_id).marker.name is MarkerName.SUMMARY_SENT
    rig.people.send(task_id, "And name it ochre.", key="later")
    after = rig.recover(task_id)
    after.drain()
    record = after.get(task_id)
    assert record.status is Status.COMPLETED
    assert asked(rig) == "...ss."
    assert "And name it ochre." in str(rig.model.requests[-1].messages)
    first, again = rig.model.requests[3:5]
    assert first.model_copy(update={"call_id": again.call_id}) == again
    assert first.call_id != again.call_id
    assert record.counters.model_resends == 1
    after.check()


def test_a_call_for_a_summary_that_the_relay_holds_is_gone_on_with(
    rig_of: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next worker reads the same call to its end: nothing is asked for again, and nothing is counted as such."""
    rig = rig_of(*BEFORE, dies, SUMMARY, says("Done."))
    task_id = rig.submit()
    for _ in range(3):
        rig.step()
    rig.dies()
    settled: list[str] = []
    monkeypatch.setattr(NoRelay, "settle", lambda _, call: (settled.append(call), Finding.RUNNING)[1])
    stored: list[str] = []
    monkeypatch.setattr(NoRelay, "stored", lambda _, call: stored.append(call))
    after = rig.recover(task_id)
    after.drain()
    record = after.get(task_id)
    assert (record.status, asked(rig)) == (Status.COMPLETED, "...ss.")
    first, again = rig.model.requests[3:5]
    assert first == again
    assert settled == stored[:1] == [first.call_id]
    assert (record.counters.model_calls, record.counters.model_resends) == (5, 0)
    (told,) = [event for event in queries.events(after.store.context, task_id) if event.kind == "RequestAttached"]
    assert told.data["purpose"] == "summary"
    after.check()


def test_a_death_behind_the_summary_loses_what_was_not_stored_alone(rig_of: MakeRig) -> None:
    """The worker dies in the reply's call: the summary was stored with its announcement, and is not asked for again."""
    rig = rig_of(*BEFORE, SUMMARY, dies, says("Done."))
    task_id = rig.submit()
    for _ in range(3):
        rig.step()
    rig.dies()
    assert rig.get(task_id).marker.name is MarkerName.REQUEST_SENT
    rig.recover(task_id).drain()
    assert asked(rig) == "...s.."
    assert rig.model.requests[-1].messages == rig.model.requests[-2].messages
    assert rig.model.requests[-1].request_id == rig.model.requests[-2].request_id
    assert rig.get(task_id).status is Status.COMPLETED


def wait_out(rig: Rig, task_id: str) -> None:
    """Let the timer of the call for a summary come due."""
    assert rig.get(task_id).place == "timers"
    entry = rig.journal(task_id)[SUMMARY_ENTRY]
    due = journal_bytes(entry.model_copy(update={"retry_at_ms": 1}))
    rig.client.hset(rig.store.context.keys.turn(task_id), SUMMARY_ENTRY, due)
    rig.kit.due("timers", task_id)
    rig.sweep.timers(rig.store.now_ms())
    rig.drain()


def test_a_call_for_a_summary_is_repeated_as_one_for_a_reply(rig_of: MakeRig) -> None:
    """Passing faults wait out a timer under the same request id; one without words is a fault, and paid."""
    rig = rig_of(*BEFORE, ModelFault(FaultKind.NETWORK, "gone"), says(" "), SUMMARY, says("Done."))
    task_id = rig.run()
    wait_out(rig, task_id)
    wait_out(rig, task_id)
    assert asked(rig) == "...sss."
    assert len({request.request_id for request in rig.model.requests[3:6]}) == 1
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.get(task_id).counters.model_calls == 5


def test_a_summary_that_fails_for_good_fails_the_task_and_a_retry_asks_again(rig_of: MakeRig) -> None:
    """Recoverable, with the reason; nothing is left out behind the person's back. Faults are counted anew then."""
    gone = ModelFault(FaultKind.NETWORK, "gone")
    rig = rig_of(*BEFORE, gone, gone, gone, gone, SUMMARY, says("Done."))
    task_id = rig.run()
    wait_out(rig, task_id)
    wait_out(rig, task_id)
    failed = rig.get(task_id)
    assert failed.status is Status.FAILED
    assert failed.detail.recoverable
    assert "call for a summary of the conversation failed for good" in failed.detail.error
    rig.people.retry(task_id, key="again")
    rig.drain()
    wait_out(rig, task_id)
    assert rig.get(task_id).status is Status.COMPLETED
    assert asked(rig) == "...sssss."


def test_a_refusal_for_length_makes_the_conversation_shorter_once(rig_of: MakeRig) -> None:
    """The estimate did not see it coming. The request goes out again, shorter, under the same id."""
    long = ModelFault(FaultKind.CONTEXT_OVERFLOW, "prompt is too long")
    rig = rig_of(step(0, text=LONG), step(1), step(2), long, SUMMARY, says("Done."))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert asked(rig) == "....s."
    assert rig.model.requests[3].request_id == rig.model.requests[5].request_id
    assert LONG not in str(rig.model.requests[5].messages)


def test_what_is_still_too_long_fails_clearly(rig_of: MakeRig) -> None:
    """Once, not for ever; and the person is told what can be done."""
    long = ModelFault(FaultKind.CONTEXT_OVERFLOW, "prompt is too long")
    rig = rig_of(step(0, text=LONG), step(1), step(2), long, SUMMARY, long)
    task_id = rig.run()
    failed = rig.get(task_id)
    assert failed.status is Status.FAILED
    assert failed.detail.recoverable
    assert "prompt is too long" in failed.detail.error
    assert "A retry asks again" in failed.detail.error
    assert asked(rig) == "....s."


def test_where_nothing_can_be_left_out_it_fails_clearly(rig_of: MakeRig) -> None:
    """What is too long is what was asked for."""
    rig = rig_of(ModelFault(FaultKind.CONTEXT_OVERFLOW, "prompt is too long"))
    task_id = rig.run()
    failed = rig.get(task_id)
    assert failed.status is Status.FAILED
    assert failed.detail.recoverable
    assert "nothing of it can be left out" in failed.detail.error


def test_a_reply_that_filled_the_window_goes_on_after_a_summary(rig_of: MakeRig) -> None:
    """It is asked to go on; a second one right behind the summary fails the task."""
    full = says("So far", stop_reason="model_context_window_exceeded")
    rig = rig_of(step(0, text=LONG), step(1), full, SUMMARY, says("and done."))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert asked(rig) == "...s."
    again = rig_of(step(0, text=LONG), step(1), full, SUMMARY, full, SUMMARY, says("Done."))
    task_id = again.run()
    failed = again.get(task_id)
    assert failed.status is Status.FAILED
    assert "also after it was made shorter" in failed.detail.error
    again.people.retry(task_id, key="again")
    again.drain()
    assert again.get(task_id).status is Status.COMPLETED


def test_old_results_are_shortened_without_a_call_and_can_be_read(make_rig: MakeRig) -> None:
    """Where that is enough no summary is paid; the model reads a result whole by its id."""
    result = "".join(f"line {number}\n" for number in range(3_000))
    tool = FakeTool(act=lambda *_: ToolResult(text=result))
    reads = calls(("r1", "read_result", {"tool_use_id": "t0"}), ("r2", "read_result", {"tool_use_id": "t9"}))
    rig = make_rig(step(0), step(1), step(2), big(step(3)), reads, says("Done."), extra=[tool], context_keep_entries=2)
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert asked(rig) == "......"
    short = str(rig.model.requests[4].messages)
    assert short.count("line 2999") < 4 + 1
    assert 'read_result with tool_use_id "t0"' in short
    results = rig.results(task_id)
    assert results["t0"]["content"].startswith("line 0\nline 1\n")
    assert results["r1"]["content"].startswith(results["t0"]["content"][:10_000])
    assert results["r2"]["is_error"]
    assert rig.kinds(task_id).count("ContextCompacted") == 1


def test_a_secret_in_a_summary_is_taken_out_before_it_is_stored(rig_of: MakeRig) -> None:
    """As in a reply."""
    rig = rig_of(*BEFORE, says("The password is hunter2222."), says("Done."), redactor=Redactor(secrets=["hunter2222"]))
    task_id = rig.run()
    assert "The password is" in str(rig.entries(task_id))
    assert "hunter2222" not in str(rig.entries(task_id))
    assert "hunter2222" not in str(rig.model.requests[-1].messages)


def test_no_summary_is_paid_at_the_limit(rig_of: MakeRig) -> None:
    """Zero means stop, for what comes before a reply as well."""
    rig = rig_of(*BEFORE)
    task_id = rig.run(limits=Limits(max_turns=3))
    assert rig.get(task_id).status is Status.FAILED
    assert asked(rig) == "..."


def test_requests_between_two_compactions_begin_alike(rig_of: MakeRig) -> None:
    """Byte by byte, over turns and over workers: system, tools and messages."""
    rig = rig_of(*BEFORE, SUMMARY, step(3), step(4), dies, step(5), says("Done."))
    task_id = rig.submit()
    for _ in range(5):
        rig.step()
    rig.dies()
    rig.recover(task_id).drain()
    replies = [request for request in rig.model.requests if not asks_for_summary(request)]
    assert len({str((request.system, request.tools)) for request in replies}) == 1
    for former, later in [*pairwise(replies[:3]), *pairwise(replies[3:])]:
        assert later.messages[: len(former.messages)] == former.messages


class CountingModel(FakeModel):
    """One that says how long a request is; or that it cannot."""

    def __init__(self, tokens: int | None, *steps: Any) -> None:
        super().__init__(*steps)
        self.tokens = tokens
        self.counted: list[ModelRequest] = []

    def count_tokens(self, request: ModelRequest) -> int:
        self.counted.append(request)
        if self.tokens is None:
            raise ModelFault(FaultKind.NETWORK, "gone")
        return self.tokens


@pytest.mark.parametrize(("tokens", "calls_made"), [(100_000, "..."), (180_000, "..s."), (None, "..s.")])
def test_near_the_limit_the_provider_is_asked(tmp_path: Path, tokens: int | None, calls_made: str) -> None:
    """Its count decides; where it does not answer, the estimate does. It counts the request that is sent."""
    result = ToolResult(text="r" * 29_000)
    near = step(1).model_copy(update={"usage": Usage(input_tokens=162_000)})
    replies = [step(0, text=LONG), near, *([SUMMARY] if "s" in calls_made else []), says("Done.")]
    model = CountingModel(tokens, *replies)
    rig = new_rig(tmp_path, model, extra=[FakeTool(act=lambda *_: result)])
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert asked(rig) == calls_made
    (request,) = model.counted
    if "s" not in calls_made:
        assert (request.messages, request.system, request.tools) == (
            model.requests[-1].messages, model.requests[-1].system, model.requests[-1].tools,
        )  # fmt: skip
    rig.check()
