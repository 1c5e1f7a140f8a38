"""Many workers race one tree of tasks, and die in it: its limit of money holds, and everything comes to its end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from neuraphage.errors import TaskNotFound
from neuraphage.model.limits import Limits
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.task import TERMINAL, Status
from neuraphage.testing import Call, Recorder
from patience import PATIENCE_S
from servers import ValkeyProcess
from turnkit import USAGE, Killed, Rig, calls, new_rig, says

WORKERS, WIDTH, DEATHS = 4, 6, 0.03
TASKS = 1 + WIDTH + WIDTH**2
CALL_MICROUSD = USAGE.input_tokens + USAGE.output_tokens


class Branching:
    """ports.ModelClient: three levels, each task of the upper two makes others. It goes by the request alone."""

    def call(self, request: ModelRequest, *_: Any) -> ModelReply:
        level = request.messages[0]["content"][0]["text"].count("/")
        if len(request.messages) > 1 or level == 2:
            return says("Done.")
        prompt = request.messages[0]["content"][0]["text"]
        return calls(*((f"s{one}", "spawn_task", {"prompt": f"{prompt}/{one}"}) for one in range(WIDTH)))


class Deadly(Recorder):
    """Kills its process at some of its calls."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    def entering(self, call: Call) -> None:
        self._perhaps()

    def leaving(self, call: Call) -> None:
        self._perhaps()

    def _perhaps(self) -> None:
        if self._chance.random() < DEATHS:
            raise Killed


def mortal(rig: Rig, chance: random.Random) -> Rig:
    made = rig.reborn(Branching())
    object.__setattr__(made.services, "store", Deadly(chance).turn_store(made.store))
    return made


def work(rig: Rig, chance: random.Random, over: threading.Event, deaths: list[str]) -> None:
    """One worker after the other, each until it dies."""
    mine = mortal(rig, chance)
    while not over.is_set():
        try:
            task_id, seq = rig.dispatcher.messages.pop(0)
        except IndexError:
            time.sleep(0.005)
            continue
        try:
            mine.runner.run(task_id, seq)
        except Killed:
            deaths.append(task_id)
            for held in rig.store.held_tasks(until_ms=None, limit=100):
                if held.task_id == task_id:
                    rig.sweep.recover(held, "gone")
            mine = mortal(rig, chance)


def send_again(rig: Rig) -> None:
    """What the sweep does later: due timers, and messages that died with their worker."""
    rig.sweep.timers(rig.store.now_ms())
    for raw in rig.client.zrange(rig.store.context.keys.outbox, 0, -1):
        with suppress(TaskNotFound):
            rig.dispatcher.messages.append((raw.decode(), rig.get(raw.decode()).seq))


@pytest.mark.timeout(900)
@pytest.mark.real_redis
@pytest.mark.parametrize("limit_microusd", [2_000, 1_000_000], ids=["it is used up", "there is enough"])
def test_a_tree_of_three_levels_comes_to_its_end_within_its_money(
    tmp_path: Path, valkey: ValkeyProcess, announce: Callable[[str], None], limit_microusd: int
) -> None:
    """Each task of it once, whoever dies; what all of them cost exceeds the limit by one call at most."""
    client, seed = valkey.client(), random.randrange(10**6)
    client.flushall()
    announce(f"seed {seed}")
    rig = new_rig(tmp_path, Branching(), client=client, pool_wait_s=0.05, max_recoveries=1_000)
    parent = rig.submit("r", max_tokens=100, limits=Limits(max_turns=50, max_cost_microusd=limit_microusd))
    over, deaths = threading.Event(), list[str]()
    workers = [
        threading.Thread(target=work, args=(rig, random.Random(seed + one), over, deaths), daemon=True)
        for one in range(WORKERS)
    ]
    for worker in workers:
        worker.start()
    deadline_s = time.monotonic() + PATIENCE_S
    ids: set[str] = set()
    while time.monotonic() < deadline_s:
        send_again(rig)
        time.sleep(0.2)
        ids = {raw.decode() for raw in client.zrange(rig.store.context.keys.ids, 0, -1)}
        if all(rig.get(one).status in TERMINAL for one in ids):
            break
    over.set()
    for worker in workers:
        worker.join()
    records = [rig.get(one) for one in sorted(ids)]
    assert all(record.status in TERMINAL for record in records), seed
    spent = sum(record.counters.cost_microusd for record in records)
    assert spent <= limit_microusd + CALL_MICROUSD, seed
    root = rig.get(parent)
    assert root.tree_turns == sum(record.counters.model_calls for record in records), seed
    assert root.counters.cost_microusd + root.below_microusd == spent, seed
    if limit_microusd > TASKS * 2 * CALL_MICROUSD:
        assert {record.status for record in records} == {Status.COMPLETED}, seed
        assert len(records) == TASKS, seed
    rig.check()
    announce(f"{len(records)} tasks, {len(deaths)} deaths, ${spent / 1_000_000} of ${limit_microusd / 1_000_000}")
    client.close()
