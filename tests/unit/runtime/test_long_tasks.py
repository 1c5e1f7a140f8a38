"""A task of hundreds of turns in a small context window, whose workers die at random: it ends as it should."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fakeredis
import pytest

from neuraphage.decide.summary_request import SUMMARY_SYSTEM
from neuraphage.llm import AnthropicClient
from neuraphage.model.effect import EffectClass
from neuraphage.model.limits import Limits
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from neuraphage.testing.scripted_api import ScriptedReply, ScriptedServer, ScriptRequest, reply
from turnkit import FakeTool, Killed, LocalDispatcher, Rig, new_rig

TURNS = 300
WINDOW_TOKENS = 12_000
PROMISE = "When all is done, end with the word periwinkle."
LATER = "And name the colour ochre at the end."
STEP = re.compile(r"step (\d+) is done")


def script(request: ScriptRequest) -> ScriptedReply:
    """Takes the step after the last one that it can see; what it is to say at the end is only in what it was told."""
    seen = str(request.body["messages"])
    done = max((int(number) for number in STEP.findall(seen)), default=0)
    if request.system == SUMMARY_SYSTEM:
        return reply(f"So far step {done} is done. The work goes on with step {done + 1}.")
    if done < TURNS:
        return reply(
            f"Step {done + 1}.", tools=[("act", {"step": done + 1})], thinking=f"Step {done + 1} is next. " * 9
        )
    words = [word for word in ("periwinkle", "ochre") if word in request.prompt]
    return reply(f"All {done} steps: {' '.join(words)}")


class Dying:
    """Kills the process that asks, now and then.

    Args:
        chance: of one call.
        seed: of the choice.
    """

    def __init__(self, chance: float, seed: int) -> None:
        self._random = random.Random(seed)
        self._chance = chance
        self.deaths = 0

    def perhaps(self) -> None:
        if self._random.random() < self._chance:
            self.deaths += 1
            raise Killed


class DyingStore(RedisStore):
    """A store whose process may die before and after each write of a turn."""

    dying: Dying

    def commit(self, *given: Any, **more: Any) -> Any:
        return self._between(super().commit, given, more)

    def finish(self, *given: Any, **more: Any) -> Any:
        return self._between(super().finish, given, more)

    def suspend(self, *given: Any, **more: Any) -> Any:
        return self._between(super().suspend, given, more)

    def _between(self, write: Any, given: Any, more: Any) -> Any:
        self.dying.perhaps()
        answer = write(*given, **more)
        self.dying.perhaps()
        return answer


class DyingModel:
    """A model whose caller may die before the request, and when the reply is there."""

    def __init__(self, client: AnthropicClient, dying: Dying) -> None:
        self._client, self._dying = client, dying

    def call(self, *given: Any) -> Any:
        self._dying.perhaps()
        answer = self._client.call(*given)
        self._dying.perhaps()
        return answer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """The provider, with a window that it enforces."""
    with ScriptedServer({"long": script}, window_tokens=WINDOW_TOKENS) as running:
        yield running


def play(tmp_path: Path, server: ScriptedServer, chance: float, **chosen: Any) -> tuple[Rig, str, Dying, list[int]]:
    """Run the task to its end; returns the last process, the task, the deaths and the steps that were taken."""
    dying, steps = Dying(chance, seed=7), {}
    client, dispatcher = fakeredis.FakeRedis(server=fakeredis.FakeServer()), LocalDispatcher()
    settings = Settings(
        namespace="turns", data_dir=tmp_path / ".data", max_recoveries=1_000, context_reply_tokens=1_000, **chosen
    )

    def act(params: Any, context: Any) -> ToolResult:
        dying.perhaps()
        steps[context.effect_id] = params["step"]  # whoever is asked again under the same key does nothing more
        dying.perhaps()
        filler = "lorem ipsum " * (600 if params["step"] % 40 == 7 else 20 + params["step"] * 37 % 100)
        return ToolResult(text=f"{filler}\nstep {params['step']} is done")

    def born() -> Rig:
        store = DyingStore(settings, SystemClock(), client=client)
        store.dying = dying
        model = DyingModel(AnthropicClient(server.url, "sk-long"), dying)
        tool = FakeTool(act=act, effect_class=EffectClass.KEYED)
        return new_rig(
            tmp_path, model, client=client, settings=settings, extra=[tool], store=store, dispatcher=dispatcher
        )

    rig = born()
    limits = Limits(max_turns=2 * TURNS, max_cost_microusd=10**12)
    task_id = rig.submit(PROMISE, limits=limits, system="[script:long]", max_tokens=1_000)
    said = False
    while rig.get(task_id).status not in (Status.COMPLETED, Status.FAILED):
        if not dispatcher.messages:  # a timer after a refusal, which is due at once
            keys = rig.store.context.keys
            assert client.zscore(keys.timers, task_id) is not None or client.zscore(keys.outbox, task_id) is not None
            rig.kit.due("timers", task_id)
            rig.sweep.timers(rig.store.now_ms())
            continue
        try:
            rig.step()
        except Killed:
            rig = born()
            if client.zscore(rig.store.context.keys.leases, task_id) is not None:
                rig.sweep.recover(rig.kit.held(task_id), "gone")
            elif not dispatcher.messages and rig.get(task_id).status is Status.RUNNING:
                record = rig.get(task_id)  # it died between the end of the turn and the message
                dispatcher.publish_turn(task_id, record.counters.iteration, record.seq)
        if not said and rig.get(task_id).counters.iteration > TURNS // 3:
            said = True
            rig.people.send(task_id, LATER, key="later")
    return rig, task_id, dying, list(steps.values())


def compactions(rig: Rig, task_id: str) -> list[str]:
    """How the conversation was made shorter, each time."""
    return [entry["compaction"]["how"] for entry in rig.entries(task_id) if entry.get("compaction")]


def test_three_hundred_turns_in_a_small_window_under_kills(tmp_path: Path, server: ScriptedServer) -> None:
    """No request is refused, no step is taken twice or left out, and what was asked for at first and later is kept."""
    rig, task_id, dying, steps = play(tmp_path, server, 0.02, context_window_tokens=WINDOW_TOKENS)
    record = rig.get(task_id)
    assert record.status is Status.COMPLETED, record.detail
    assert steps == list(range(1, TURNS + 1))
    assert record.detail.summary == f"All {TURNS} steps: periwinkle ochre"
    assert dying.deaths > 20
    made = compactions(rig, task_id)
    assert len(made) > 10
    told = [
        row
        for row in rig.client.xrange(rig.store.context.keys.events(task_id))
        if b"ContextCompacted" in row[1].values()
    ]
    assert len(told) == len(made)
    log = server.log()
    assert log["totals"]["refused"] == 0, [row["detail"] for row in log["entries"] if row["detail"]]
    rig.check()


def test_a_window_that_is_smaller_than_what_is_known_of_it(tmp_path: Path, server: ScriptedServer) -> None:
    """The provider refuses what is too long, or stops in mid-reply: the conversation is made shorter, and goes on."""
    rig, task_id, _, steps = play(tmp_path, server, 0.01, context_window_tokens=3 * WINDOW_TOKENS)
    record = rig.get(task_id)
    assert record.status is Status.COMPLETED, record.detail
    assert steps == list(range(1, TURNS + 1))
    assert record.detail.summary == f"All {TURNS} steps: periwinkle ochre"
    assert set(compactions(rig, task_id)) == {"summary"}
    refused = [row["detail"] for row in server.log()["entries"] if row["detail"]]
    assert 0 < len(refused) <= len(compactions(rig, task_id)) + record.counters.recoveries_total
    assert all(text.startswith("prompt is too long") for text in refused)
    rig.check()
    print(
        "COMP",
        compactions(rig, task_id),
        len(refused),
        [e["stop_reason"] for e in rig.entries(task_id) if e.get("stop_reason") not in (None, "tool_use")],
    )
