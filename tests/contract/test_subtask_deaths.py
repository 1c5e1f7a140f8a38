"""A worker dies at each write and each call of a tree of tasks: each subtask is made once, and told of once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuraphage.decide.children import child_id
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.task import Status
from neuraphage.testing import CrashInjector, Recorder, crash_points
from servers import ValkeyProcess
from turnkit import Killed, Rig, calls, new_rig, says

WAIT_LATER = {"wait": False}
PLAN = {
    "Do it.": [
        calls(("a", "spawn_task", {"prompt": "a"}), ("b", "spawn_task", {"prompt": "b", **WAIT_LATER})),
        calls(("all", "wait_for_tasks", {})),
        says("Done."),
    ],
    "a": [calls(("c", "spawn_task", {"prompt": "c"})), says("a done")],
    "b": [says("b done")],
    "c": [calls(("w", "write_file", {"path": "c.txt", "content": "c"})), says("c done")],
}


class Planned:
    """ports.ModelClient whose reply depends on the request alone, so that a repeat is answered alike."""

    def call(self, request: ModelRequest, *_: Any) -> ModelReply:
        step = sum(message["role"] == "assistant" for message in request.messages)
        return PLAN[request.messages[0]["content"][0]["text"]][step]


def killed() -> None:
    raise Killed


def lived(folder: Path, client: Any, recorder: Recorder) -> tuple[Rig, str]:
    """A tree, up to its end or the death of its worker, and on to its end by another one."""
    folder.mkdir()
    rig = new_rig(folder, Planned(), client=client)
    object.__setattr__(rig.services, "store", recorder.turn_store(rig.store))
    object.__setattr__(rig.services, "model", recorder.model(rig.model))
    parent = rig.submit()
    try:
        rig.drain()
    except Killed:
        for held in rig.store.held_tasks(until_ms=None, limit=9):
            rig.sweep.recover(held, "gone")
        rig = rig.reborn(Planned())
        outbox = client.zrange(rig.store.context.keys.outbox, 0, -1)
        rig.dispatcher.messages[:] = [(raw.decode(), rig.get(raw.decode()).seq) for raw in outbox]
        rig.drain()
    return rig, parent


def told(rig: Rig, parent: str) -> dict[str, Any]:
    """What must be the same whoever died when: tasks, statuses, results of calls, money, turns."""
    child = child_id(parent, "a")
    family = {"it": parent, "a": child, "b": child_id(parent, "b"), "c": child_id(child, "c")}
    names = {task_id: name for name, task_id in family.items()}
    found: dict[str, Any] = {"tasks": rig.client.zcard(rig.store.context.keys.ids)}
    for name, task_id in family.items():
        record = rig.get(task_id)
        assert record.outcomes == {}
        results = {key: str(block).replace(str(rig.folder), "") for key, block in rig.results(task_id).items()}
        for known, short in names.items():
            results = {key: text.replace(known, short) for key, text in results.items()}
        spawned = rig.kinds(task_id).count("SubtaskSpawned")
        found[name] = (
            record.status,
            results,
            record.below_microusd,
            record.counters.cost_microusd,
            spawned,
            record.tree_turns,
        )
        assert record.status is Status.COMPLETED
    return found


@pytest.mark.timeout(900)
@pytest.mark.real_redis
def test_whenever_a_worker_dies_each_subtask_is_made_and_told_of_once(
    tmp_path: Path, valkey: ValkeyProcess, announce: Callable[[str], None]
) -> None:
    """Before and after each write of each task of the tree, and each call of the model, on the real server."""
    client, number = valkey.client(), itertools.count()

    def run(recorder: Recorder) -> dict[str, Any]:
        client.flushall()
        rig, parent = lived(tmp_path / str(next(number)), client, recorder)
        rig.check()
        return told(rig, parent)

    recorder = Recorder()
    expected = run(recorder)
    assert expected["tasks"] == 4
    assert "c.txt" in expected["a"][1]["c"]
    points = list(crash_points(recorder.calls))
    for point in points:
        assert run(CrashInjector(point, killed)) == expected, point
    announce(f"{len(points)} deaths of a tree's workers")
    client.close()
