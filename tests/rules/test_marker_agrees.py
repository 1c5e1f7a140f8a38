"""The marker shown to people and the journal that decisions read agree after every write of recorded runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fakeredis
import pytest

from neuraphage.decide.hashing import sha256_hex
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.effect import (
    MODEL_ENTRY,
    SUMMARY_ENTRY,
    TOOL_CLASSES,
    EffectClass,
    EffectState,
    JournalEntry,
    Marker,
    MarkerName,
)
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Mode
from neuraphage.model.tool import ToolResult
from neuraphage.model.usage import Usage
from neuraphage.ports import Changes, FinishTo
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store import queries
from neuraphage.store.tasks import RedisStore
from turnkit import FakeModel, FakeTool, Killed, Rig, Step, calls, new_rig, says

OF_A_SUMMARY = {MarkerName.SUMMARY_SENT, MarkerName.SUMMARY_RECEIVED}


def last_change(entry: JournalEntry) -> Marker:
    """The marker that names this state of an entry."""
    if entry.key == SUMMARY_ENTRY:
        if entry.state is EffectState.COMPLETED:
            return Marker(name=MarkerName.SUMMARY_RECEIVED, response_hash=entry.response_hash)
        return Marker(name=MarkerName.SUMMARY_SENT, request_id=entry.request_id)
    if entry.key == MODEL_ENTRY:
        if entry.state is EffectState.COMPLETED:
            return Marker(name=MarkerName.RESPONSE_RECEIVED, response_hash=entry.response_hash)
        return Marker(name=MarkerName.REQUEST_SENT, request_id=entry.request_id)
    if entry.state is EffectState.COMPLETED:
        return Marker(
            name=MarkerName.TOOL_COMPLETED, tool=entry.tool, tool_use_id=entry.key, result_hash=entry.result_hash
        )
    return Marker(
        name=MarkerName.TOOL_STARTED, tool=entry.tool, tool_use_id=entry.key, params_hash=entry.params_hash
    )  # fmt: skip


class AgreeingStore(RedisStore):
    """A store that compares marker and journal after each write of a turn."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[MarkerName] = []

    def commit(self, lease: Any, changes: Changes) -> Any:
        answer = super().commit(lease, changes)
        self.compare(lease.task_id, changes)
        return answer

    def suspend(self, lease: Any, changes: Changes, to: Any, **more: Any) -> Any:
        answer = super().suspend(lease, changes, to, **more)
        self.compare(lease.task_id, changes)
        return answer

    def finish(self, lease: Any, changes: Changes, to: FinishTo, iteration: int, detail: Any) -> Any:
        answer = super().finish(lease, changes, to, iteration, detail)
        self.compare(lease.task_id, changes)
        return answer

    def compare(self, task_id: str, changes: Changes) -> None:
        """The stored marker names the last effect that this write changed, or the prompts it asks."""
        record = self.get(task_id)
        self.seen.append(record.marker.name)
        if changes.prompts_opened or record.marker.name is MarkerName.WAITING_FOR_USER:
            assert record.marker.name is MarkerName.WAITING_FOR_USER
            if record.prompts:
                assert record.marker.prompt_hash == sha256_hex(sorted(p.prompt_id for p in record.prompts))
            return
        moved = [e for e in changes.journal if e.state is not EffectState.PLANNED]
        if moved:
            assert record.marker == last_change(moved[-1])
            self.compare_hashes(task_id, record.marker)

    def compare_hashes(self, task_id: str, marker: Marker) -> None:
        """A hash of the marker is that of what is stored."""
        entries = queries.conversation(self.context, task_id)
        reply = next((entry["content"] for entry in reversed(entries) if entry["role"] == "assistant"), [])
        params = {block["id"]: block["input"] for block in reply if block["type"] == "tool_use"}
        blocks = [block for entry in entries for block in entry["content"]]
        results = {block["tool_use_id"]: block["content"] for block in blocks if block["type"] == "tool_result"}
        match marker.name:
            case MarkerName.RESPONSE_RECEIVED:
                assert marker.response_hash == sha256_hex(reply)
            case MarkerName.TOOL_STARTED:
                assert marker.params_hash == sha256_hex(params[marker.tool_use_id or ""])
            case MarkerName.TOOL_COMPLETED:
                assert marker.result_hash == sha256_hex(results[marker.tool_use_id or ""])


@pytest.fixture
def rig_of(tmp_path: Path) -> Callable[..., Rig]:
    """A process over a comparing store."""

    def make(*steps: Step, extra: list[FakeTool], client: Any = None, **fields: Any) -> Rig:
        settings = Settings(namespace="turns", data_dir=tmp_path / ".data")
        client = client or fakeredis.FakeRedis(server=fakeredis.FakeServer())
        store = AgreeingStore(settings, SystemClock(), client=client)
        return new_rig(
            tmp_path, FakeModel(*steps), client=client, settings=settings, extra=extra, store=store, **fields
        )

    return make


def seen(rig: Rig) -> set[MarkerName]:
    store = rig.services.store
    assert isinstance(store, AgreeingStore)
    return set(store.seen)


def test_a_plain_run(rig_of: Callable[..., Rig]) -> None:
    """Faults, calls of several kinds, refused calls, questions and talk: every marker is met, and every one agrees."""
    asks = FakeTool(name="asks", side_effecting=True)
    rig = rig_of(
        ModelFault(FaultKind.NETWORK, "gone"),
        calls(("t1", "act", {}), ("t2", "nothing", {}), ("t3", "act", {"bad": 1}), ("t4", "act", {})),
        calls(("t5", "asks", {}), ("t6", "ask_user", {"question": "?"}), ("t7", "act", {})),
        calls(("t8", "act", {}), invalid_inputs={"t8": "{"}),
        calls(("t9", "run_command", {"command": "true"})),
        says("part", stop_reason="max_tokens"),
        says("Hello."),
        says("Bye."),
        extra=[FakeTool(), asks],
    )
    task_id = rig.run(allow=("run_command",), mode=Mode.CONVERSATIONAL)
    rig.retry_now(task_id)
    rig.drain()
    first, second = rig.get(task_id).prompts
    for prompt in (second, first):
        rig.people.answer(task_id, prompt.prompt_id, "yes")
        rig.drain()
    rig.people.send(task_id, "Go on.")
    rig.drain()
    assert len(rig.model.requests) == 8
    assert seen(rig) == set(MarkerName) - {MarkerName.TASK_CREATED} - OF_A_SUMMARY


def test_a_run_with_a_summary(rig_of: Callable[..., Rig]) -> None:
    """One that a shutdown parts from the reply that it is for, so that its end is stored by itself."""
    big = calls(("t2", "act", {})).model_copy(update={"usage": Usage(input_tokens=190_000)})

    def draining(*_: Any) -> ModelReply:
        rig.keeper.drain()
        return says("A summary.")

    rig = rig_of(calls(("t1", "act", {}), text="word " * 9_000), big, draining, extra=[FakeTool()])
    task_id = rig.submit()
    for _ in range(3):
        rig.step()
    assert rig.get(task_id).marker.name is MarkerName.SUMMARY_RECEIVED
    after = rig_of(says("Done."), extra=[FakeTool()], client=rig.client, dispatcher=rig.dispatcher)
    after.drain()
    assert seen(rig) >= OF_A_SUMMARY
    assert MarkerName.RESPONSE_RECEIVED in seen(after)
    assert "A summary." in str(after.model.requests[0].messages)


@pytest.mark.parametrize("effect_class", TOOL_CLASSES)
def test_runs_with_a_death_in_a_tool(rig_of: Callable[..., Rig], effect_class: EffectClass) -> None:
    """What a later process settles has its marker too."""
    lives: list[int] = []

    def act(params: Any, context: Any) -> ToolResult:
        lives.append(1)
        if len(lives) == 1:
            raise Killed
        return ToolResult(text="acted")

    tool = FakeTool(act=act, effect_class=effect_class)
    rig = rig_of(calls(("t1", "act", {}), ("t2", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    assert rig.get(task_id).marker.name is MarkerName.TOOL_STARTED
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    after = rig_of(extra=[tool], client=rig.client, dispatcher=rig.dispatcher)
    object.__setattr__(after.services, "model", rig.model)
    after.drain()
    assert after.get(task_id).marker.name is MarkerName.RESPONSE_RECEIVED
    assert MarkerName.TOOL_COMPLETED in seen(after)


def test_a_death_in_the_call(rig_of: Callable[..., Rig]) -> None:
    """A call that is made again is named by the same request id."""

    def dies(request: Any, show: Any, interrupt: Any) -> ModelReply:
        raise Killed

    rig = rig_of(dies, extra=[])
    task_id = rig.submit()
    rig.dies()
    marker = rig.get(task_id).marker
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    after = rig_of(says("Done."), extra=[], client=rig.client, dispatcher=rig.dispatcher)
    after.drain()
    assert marker == Marker(name=MarkerName.REQUEST_SENT, request_id=after.model.requests[0].request_id)
