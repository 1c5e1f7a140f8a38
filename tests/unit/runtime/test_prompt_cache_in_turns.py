"""A task's requests are read from the provider's cache, over pauses and deaths, by the provider's own rules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import fakeredis
import pytest

from neuraphage.decide.prompt_cache import Broken, last_break
from neuraphage.llm import AnthropicClient
from neuraphage.model.cache_use import CacheBreak
from neuraphage.model.effect import EffectClass
from neuraphage.model.limits import Limits
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.ports import Claimed
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from neuraphage.testing.scripted_api import ScriptedReply, ScriptedServer, ScriptRequest, reply
from neuraphage.testing.scripted_api.prompt_cache import PromptCache
from turnkit import FakeTool, Killed, LocalDispatcher, Rig, new_rig

TURNS = 50
CALLS = 12
"""In each turn: with their results more blocks than the provider looks back."""


def script(request: ScriptRequest) -> ScriptedReply:
    if request.turn == TURNS:
        return reply("Done.")
    wanted = [("act", {"turn": request.turn, "call": number}) for number in range(CALLS)]
    return reply(
        f"Turn {request.turn}.", thinking="Go on. " * 20, tools=wanted if request.turn % 10 == 3 else wanted[:1]
    )


class Pauses:
    """Time that has passed beside that of the clocks."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def __call__(self) -> float:
        return self.passed_s


class LaterStore(RedisStore):
    """A store whose server's clock has the pauses in it."""

    pauses: Pauses

    def claim(self, *given: Any) -> Claimed:
        claimed = super().claim(*given)
        return replace(claimed, now_ms=claimed.now_ms + int(self.pauses.passed_s * 1_000))


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def server(pauses: Pauses) -> Iterator[ScriptedServer]:
    with ScriptedServer({"cached": script}, cache=PromptCache(pauses)) as running:
        yield running


class Mortal:
    """A model whose caller dies once in a while, before the request or when the reply is there."""

    def __init__(self, client: AnthropicClient, chance: random.Random) -> None:
        self._client, self._chance = client, chance

    def call(self, *given: Any) -> Any:
        if self._chance.random() < 0.08:
            raise Killed
        answer = self._client.call(*given)
        if self._chance.random() < 0.08:
            raise Killed
        return answer


def play(tmp_path: Path, server: ScriptedServer, pauses: Pauses, pause_s: dict[int, float]) -> tuple[Rig, str, int]:
    """Run the task; before these turns time passes. Returns the last process, the task and the count of deaths."""
    chance, deaths = random.Random(3), 0
    client, dispatcher = fakeredis.FakeRedis(server=fakeredis.FakeServer()), LocalDispatcher()
    settings = Settings(namespace="turns", data_dir=tmp_path / ".data", max_recoveries=1_000)
    tool = FakeTool(act=lambda *_: ToolResult(text="line of a result\n" * 30), effect_class=EffectClass.KEYED)

    def born() -> Rig:
        store = LaterStore(settings, SystemClock(), client=client)
        store.pauses = pauses
        model = Mortal(AnthropicClient(server.url, "sk-cache"), chance)
        return new_rig(
            tmp_path, model, client=client, settings=settings, extra=[tool], store=store, dispatcher=dispatcher
        )

    rig = born()
    task_id = rig.submit("Do it all. " * 400, system="[script:cached]", limits=Limits(max_turns=2 * TURNS))
    while rig.get(task_id).status is not Status.COMPLETED:
        pauses.passed_s += 20 + pause_s.pop(rig.get(task_id).counters.iteration, 0.0)
        try:
            rig.step()
        except Killed:
            deaths += 1
            rig = born()
            rig.sweep.recover(rig.kit.held(task_id), "gone")
    return rig, task_id, deaths


def share(rig: Rig, task_id: str) -> float:
    """Of the input that was read from the cache."""
    counters = rig.get(task_id).counters
    total = counters.input_tokens + counters.cache_write_tokens + counters.cache_read_tokens
    return counters.cache_read_tokens / total


def test_nine_tenths_of_fifty_turns_with_pauses_and_kills_are_read(
    tmp_path: Path, server: ScriptedServer, pauses: Pauses
) -> None:
    """The first pause is paid; from then on requests are kept for an hour, as long as pauses come."""
    waits = {12: 600.0, 15: 1_500.0, 22: 900.0, 30: 3_000.0, 38: 600.0, 45: 2_400.0}
    rig, task_id, deaths = play(tmp_path, server, pauses, dict(waits))
    uses = [entry["cache"] for entry in rig.entries(task_id) if entry.get("cache")]
    assert deaths > 3
    assert len(uses) == TURNS + 1
    assert share(rig, task_id) >= 0.9
    assert [use.get("hour", False) for use in uses[13:]] == [True] * (TURNS - 12)
    assert last_break(rig.entries(task_id)) == Broken(12, CacheBreak.PAUSE)
    kept = [use.get("read", 0) + use.get("written", 0) for use in uses]
    for number, (former, later) in enumerate(pairwise(kept), start=1):
        if number != 12:
            assert uses[number].get("read", 0) >= former, f"turn {number} read not all that turn {number - 1} left"
        assert later > former
    log = server.log()["totals"]
    assert (log["refused"], log["completed"]) == (0, log["received"])


def test_without_pauses_nothing_is_kept_for_an_hour(tmp_path: Path, server: ScriptedServer, pauses: Pauses) -> None:
    """It would cost more, and save nothing."""
    rig, task_id, _ = play(tmp_path, server, pauses, {})
    assert not any(entry["cache"].get("hour") for entry in rig.entries(task_id) if entry.get("cache"))
    assert share(rig, task_id) >= 0.9
    assert last_break(rig.entries(task_id)) is None
