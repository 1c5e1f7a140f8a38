"""The scenarios R234 to R242 of `rows.py`, one test each or more."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import redis

from neuraphage.model.effect import EffectClass, MarkerName
from neuraphage.model.limits import Limits
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.model.usage import Usage
from neuraphage.store import queries
from neuraphage.testing import CrashInjector, CrashPoint
from neuraphage.testing.crash import ANY_CALL, Side
from patience import PATIENCE_S
from servers import ValkeyProcess
from turnkit import FakeModel, FakeTool, Killed, Rig, calls, new_rig, says, texts, until

MakeRig = Callable[..., Rig]


def killed(*args: Any, **kwargs: Any) -> Any:
    raise Killed


def with_usage(reply: ModelReply, tokens: int) -> ModelReply:
    return reply.model_copy(update={"usage": Usage(input_tokens=tokens - 10, output_tokens=10)})


def test_a_stored_state_is_read_back_as_it_was(make_rig: MakeRig) -> None:
    """R234: iteration 5, 12,345 tokens, $0.567 and a started tool survive; a record without counters reads as zeros."""
    rig = make_rig()
    old, new = rig.submit(), rig.submit()
    marker = {"name": "tool_started", "tool": "read_file", "tool_use_id": "t1", "params_hash": "0" * 64}
    fields = {"iteration": 5, "model_calls": 5, "input_tokens": 12_000, "output_tokens": 345, "cost_microusd": 567_000}
    rig.client.hset(rig.kit.keys.task(new), mapping={**fields, "marker": orjson.dumps(marker)})
    record = rig.get(new)
    counters = record.counters
    assert (counters.iteration, counters.tokens_used, counters.cost_microusd) == (5, 12_345, 567_000)
    assert record.marker.model_dump(mode="json", exclude_none=True) == marker
    assert type(record).model_validate_json(record.model_dump_json()) == record
    rig.client.hdel(rig.kit.keys.task(old), "iteration", "recoveries", "recoveries_total")
    counters = rig.get(old).counters
    assert (counters.iteration, counters.tokens_used, counters.cost_microusd) == (0, 0, 0)


def test_counters_survive_a_process(make_rig: MakeRig) -> None:
    """R235: two turns of 100 and 150 tokens, the process is dropped: 2 and 250; a third of 50: 3 and 300."""
    first, second = with_usage(calls(("t1", "act", {})), 100), with_usage(calls(("t2", "act", {})), 150)
    rig = make_rig(first, second, with_usage(says("Done."), 50), extra=[FakeTool()])
    task_id = rig.submit()
    rig.step()
    rig.step()
    after = rig.reborn()
    counters = after.get(task_id).counters
    assert (counters.iteration, counters.tokens_used) == (2, 250)
    after.drain()
    counters = after.get(task_id).counters
    assert (counters.iteration, counters.tokens_used) == (3, 300)


def test_an_orphan_in_its_fourth_turn_is_resumable(make_rig: MakeRig) -> None:
    """R236: a Running task at iteration 3 with a completed tool: the report has one resumable, at 3."""
    rig = make_rig(*[calls((f"t{n}", "act", {}), (f"u{n}", "last", {})) for n in range(4)],
                   extra=[FakeTool(), FakeTool(name="last", act=lambda p, c: dies_in_the_fourth(c))])  # fmt: skip
    lives: list[int] = []

    def dies_in_the_fourth(context: Any) -> ToolResult:
        lives.append(1)
        if len(lives) == 4:
            raise Killed
        return ToolResult(text="acted")

    task_id = rig.submit()
    for _ in range(3):
        rig.step()
    rig.dies()
    rig.kit.expire_lease(task_id)
    rig.sweep.run(guarded=False)
    rig.kit.age_mark(task_id)
    report = rig.sweep.run(guarded=False)
    assert report is not None
    assert [(row.task_id, row.iteration, row.marker) for row in report.resumable] == [(task_id, 3, "tool_started")]
    assert (report.requeued, report.failed) == ((), ())
    stored = queries.journal(rig.store.context, task_id)
    assert stored["t3"].state.value == "completed"


def test_a_crash_in_read_file_is_seen_on_reload(make_rig: MakeRig) -> None:
    """R237: the marker names the tool and the call that was open."""
    rig = make_rig(calls(("t1", "read_file", {"path": "a.txt"})), says("Done."))
    (rig.folder / "a.txt").write_text("words\n", encoding="utf-8")
    tool = rig.services.tools.get("read_file")
    assert tool is not None
    run, tool.run = tool.run, killed
    task_id = rig.submit()
    rig.dies()
    tool.run = run
    marker = rig.reborn().get(task_id).marker
    assert (marker.name, marker.tool, marker.tool_use_id) == (MarkerName.TOOL_STARTED, "read_file", "t1")
    rig.recover(task_id).drain()
    assert "words" in rig.results(task_id)["t1"]["content"]


@pytest.mark.parametrize("round_number", range(10))
def test_ten_rounds_of_random_deaths(tmp_path: Path, round_number: int) -> None:
    """R238: killed at a random call of a port and started again; the task ends, and its effect happened once."""
    chance = random.Random(round_number)
    written: list[str] = []

    def act(params: Any, context: Any) -> ToolResult:
        written.append(context.effect_id)
        return ToolResult(text="acted")

    tool = FakeTool(act=act, effect_class=EffectClass.OPAQUE)
    plain = new_rig(tmp_path, FakeModel(), extra=[tool])
    point = CrashPoint(ANY_CALL, chance.randint(1, 9), chance.choice(list(Side)))
    injector = CrashInjector(point, killed)
    rig = plain.reborn(injector.model(FakeModel(calls(("t1", "act", {})), *[says("Done.")] * 3)))
    object.__setattr__(rig.services, "store", injector.turn_store(rig.store))
    task_id = rig.submit()
    with pytest.raises(Killed):
        rig.drain()
    status = rig.get(task_id).status
    assert status in {Status.QUEUED, Status.RUNNING, Status.COMPLETED}
    replies = [calls(("t1", "act", {})), says("Done.")][plain.get(task_id).counters.model_calls :]
    after = plain.reborn(FakeModel(*replies))
    after.sweep.run(guarded=False)
    if after.kit.place(task_id) == "leases":
        after.sweep.recover(after.kit.held(task_id), "gone")
    elif after.kit.place(task_id) == "outbox" and not after.dispatcher.messages:
        after.kit.due("outbox", task_id)
        after.sweep.run(guarded=False)
    after.drain()
    assert after.get(task_id).status is Status.COMPLETED
    assert len(written) <= 1
    after.check()


def test_a_full_server_leaves_what_is_stored_valid(valkey: ValkeyProcess, tmp_path: Path) -> None:
    """R239: no memory left: no effect starts, the conversation stays readable, and the task goes on when there is."""
    client: redis.Redis = valkey.client()
    client.flushall()
    rig = new_rig(tmp_path, FakeModel(calls(("t1", "act", {})), says("Done.")), client=client, extra=[FakeTool()])
    task_id = rig.submit()
    rig.step()
    before = rig.entries(task_id)
    client.config_resetstat()
    worker = threading.Thread(target=rig.drain)
    try:
        client.config_set("maxmemory", 1)
        worker.start()
        until(lambda: client.info("errorstats"))  # a write was refused
        assert rig.entries(task_id) == before
        assert (rig.get(task_id).place, len(rig.model.requests)) == ("outbox", 1)
    finally:
        client.config_set("maxmemory", 0)
        worker.join(PATIENCE_S)
    assert rig.get(task_id).status is Status.COMPLETED
    rig.check()
    client.close()


def test_from_start_to_crash_to_recovery(make_rig: MakeRig) -> None:
    """R240: start, checkpoint, crash, categorise, recover: one that had begun resumes, one that had not starts over."""
    rig = make_rig(killed, calls(("t1", "act", {})), says("Done."), says("Done."), extra=[FakeTool()])
    begun = rig.submit()
    rig.dies()
    fresh = rig.submit()
    rig.dispatcher.messages.clear()
    rig.kit.claim(fresh, process="dead")
    for task_id in (begun, fresh):
        rig.kit.expire_lease(task_id)
    rig.sweep.run(guarded=False)
    for task_id in (begun, fresh):
        rig.kit.age_mark(task_id)
    report = rig.sweep.run(guarded=False)
    assert report is not None
    assert [row.task_id for row in report.resumable] == [begun]
    assert [row.task_id for row in report.requeued] == [fresh]
    rig.reborn().drain()
    assert {rig.get(task_id).status for task_id in (begun, fresh)} == {Status.COMPLETED}


def test_units_at_four_fifths_lose_nothing(make_rig: MakeRig) -> None:
    """R241, R191: three tasks die in their last fifth and go on there; no turn is done twice (allowed: 5 %)."""
    rig = make_rig(extra=[FakeTool()])
    done = [calls((f"t{n}", "act", {"section": n})) for n in range(4)]
    tasks = []
    for _ in range(3):
        rig.model.steps += [*done, killed]
        task_id = rig.submit(limits=Limits(max_turns=5))
        for _ in range(4):
            rig.step()
        rig.dies()
        tasks.append(task_id)
    rig.model.steps += [says("Section 4.")] * 3
    for task_id in tasks:
        rig.sweep.recover(rig.kit.held(task_id), "gone")
    rig.reborn().drain()
    for task_id in tasks:
        counters = rig.get(task_id).counters
        assert (rig.get(task_id).detail.summary, counters.iteration) == ("Section 4.", 5)
        assert (counters.model_calls, counters.tool_runs) == (5, 4)
    assert len(rig.model.requests) == 3 * 5 + 3


def test_a_crash_after_the_assignment_keeps_it(make_rig: MakeRig) -> None:
    """R242: claimed and not begun: still active, the same task, the same prompt, once."""
    rig = make_rig(says("Done."))
    task_id = rig.submit("Write the report.")
    rig.dispatcher.messages.clear()
    rig.kit.claim(task_id, process="dead")
    assert rig.get(task_id).status is Status.RUNNING
    rig.recover(task_id).drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert texts(rig.model.requests[0].messages) == ["Write the report."]


def test_a_file_that_was_being_written_is_finished(make_rig: MakeRig) -> None:
    """R242: killed before its file was there: the probe sees that, and the file is written whole, once."""
    rig = make_rig(calls(("t1", "write_file", {"path": "report.txt", "content": "all of it\n"})), says("Done."))
    tool = rig.services.tools.get("write_file")
    assert tool is not None
    run, tool.run = tool.run, killed
    task_id = rig.submit()
    rig.dies()
    tool.run = run
    rig.recover(task_id).drain()
    assert (rig.folder / "report.txt").read_text(encoding="utf-8") == "all of it\n"
    assert "is_error" not in rig.results(task_id)["t1"]
    assert rig.kinds(task_id).count("ToolStarted") == 2
