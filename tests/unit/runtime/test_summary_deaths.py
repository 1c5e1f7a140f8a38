"""A worker dies at each write and each call around a summary, whoever makes it: the task ends as if it had not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.decide.model_family import gate_of
from neuraphage.decide.summary_request import SUMMARY_SYSTEM
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Status
from neuraphage.model.usage import Usage
from neuraphage.store import ledger
from neuraphage.testing import CrashInjector, Recorder, crash_points
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]
BIG = Usage(input_tokens=190_000, output_tokens=10)
LIMITS = ("other-tiny requests=100 output_tokens=1000000", "scripted requests=100 output_tokens=1000000")
WAYS = {
    "it answers": (None, ("other-tiny", "")),
    "it refuses": (ModelFault(FaultKind.NOT_FOUND, "gone"), ("scripted-1", "other-tiny failed: not_found")),
    "it writes none": (says(" "), ("scripted-1", "other-tiny failed: garbage")),
}


def answering(of_other: ModelReply | ModelFault | None) -> Callable[..., ModelReply]:
    """A model whose answer depends on the request alone, so that a repeat is answered alike."""

    def answer(request: Any, *_: Any) -> ModelReply:
        if request.system[0]["text"] == SUMMARY_SYSTEM:
            if isinstance(of_other, ModelFault) and request.model == "other-tiny":
                raise of_other
            is_none = of_other is not None and request.model == "other-tiny"
            return of_other if is_none and isinstance(of_other, ModelReply) else says("All that was done.")
        if "All that was done." in str(request.messages):
            return says("Done.")
        step = sum(message["role"] == "assistant" for message in request.messages)
        reply = calls((f"t{step}", "act", {}), text="word " * 8_000 if step == 0 else "")
        return reply.model_copy(update={"usage": BIG}) if step == 2 else reply

    return answer


def killed() -> None:
    raise Killed


def lived(make_rig: MakeRig, recorder: Recorder, of_other: ModelReply | ModelFault | None) -> tuple[Rig, str]:
    """A task with a summary, up to its end or its death, and on to its end."""
    rig = make_rig(
        *[answering(of_other)] * 12, extra=[FakeTool()], tiers={"cheap": ("other-tiny",)},
        context_window_tokens=200_000, model_limits=LIMITS, day_max_cost_microusd=10**9,
    )  # fmt: skip
    object.__setattr__(rig.services, "store", recorder.turn_store(rig.store))
    object.__setattr__(rig.services, "model", recorder.model(rig.model))
    task_id = rig.submit()
    try:
        rig.drain()
    except Killed:
        record = rig.get(task_id)
        rig = rig.recover(task_id) if record.place == "leases" else rig.reborn()
        if record.place == "outbox":
            rig.dispatcher.messages[:] = [(task_id, record.seq)]
        rig.drain()
    return rig, task_id


@pytest.mark.timeout(900)
@pytest.mark.parametrize("way", list(WAYS))
def test_whenever_a_worker_dies_the_summary_is_by_the_same_model(
    make_rig: MakeRig, announce: Callable[[str], None], way: str
) -> None:
    """One summary, by the same model and for the same reason; every call is counted, and nothing stays reserved."""
    of_other, by = WAYS[way]
    recorder = Recorder()
    lived(make_rig, recorder, of_other)
    replies = [at for at, call in enumerate(recorder.calls) if call.name == "ModelClient.call"]
    points = list(crash_points(recorder.calls[replies[2] :]))  # before that no summary is thought of
    for point in points:
        rig, task_id = lived(make_rig, CrashInjector(point, killed), of_other)
        record = rig.get(task_id)
        assert record.status is Status.COMPLETED, point
        made = [entry["compaction"] for entry in rig.entries(task_id) if entry.get("compaction")]
        assert [(one["summary_model"], one["why_own"]) for one in made] == [by], point
        asked = [one for one in rig.model.requests if one.system[0]["text"] == SUMMARY_SYSTEM]
        assert len({one.request_id for one in asked}) == 1, point
        known = record.counters.model_calls + record.counters.model_resends + (of_other is not None)
        assert (record.counters.model_calls, len(rig.model.requests) <= known) == (5, True), point
        booked = sum(row.spent.cost_microusd for row in ledger.ledger(rig.store.context) if row.kind == "m")
        assert booked == record.counters.cost_microusd, point
        assert int(rig.client.hget(rig.kit.keys.pools, "reserved day") or 0) == 0, point
        for model in ("other-tiny", "scripted-1"):
            shares = [name for name in rig.client.hkeys(rig.kit.keys.gate(gate_of("", model))) if name[:2] == b"t:"]
            assert shares == [], point
        rig.check()
    announce(f"{len(points)} crash points of a summary, {way}")
