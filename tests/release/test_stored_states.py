"""What an earlier release stored, this one goes on from: every kind of state, on a real server, to its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from record_states import record

from neuraphage import __version__
from neuraphage.model.effect import MarkerName
from neuraphage.model.task import Status
from neuraphage.runtime.clock import SystemClock
from neuraphage.store.tasks import RedisStore
from servers import ValkeyProcess
from statekit import SCENARIOS, STATES, FollowingModel, carry_on, replies_of, restore, settings_of, states_of
from storefixtures import valkey
from turnkit import Rig, new_rig

__all__ = ["valkey"]
pytestmark = pytest.mark.real_redis

RECORDED = {
    f"{path.parent.name}-{path.stem}-{number:02}-{state['where']}": state
    for path in sorted(STATES.glob("*/*.json"))
    for number, state in enumerate(states_of(path), start=1)
}


@pytest.fixture
def client(valkey: ValkeyProcess) -> Iterator[Any]:
    """An empty server."""
    client = valkey.client()
    client.flushall()
    yield client
    client.close()


def upgraded(client: Any, folder: Path, state: dict[str, Any]) -> Rig:
    """A worker of this release on what is stored."""
    settings = settings_of(folder)
    restore(state, client, folder, settings.data_dir / "spool")
    store = RedisStore(settings, SystemClock(), client=client)
    return new_rig(folder, FollowingModel(SCENARIOS[state["scenario"]]), client=client, settings=settings, store=store)


def plain(entries: list[dict[str, Any]]) -> list[str]:
    """Conversation entries as comparable text."""
    return [json.dumps(entry, sort_keys=True) for entry in entries]


@pytest.mark.parametrize("name", RECORDED)
def test_a_stored_state_goes_on_to_its_end(client: Any, tmp_path: Path, name: str) -> None:
    """Nothing of the conversation changes, no committed reply is asked for again, no outcome is lost."""
    state = RECORDED[name]
    rig, task_id, scenario = upgraded(client, tmp_path, state), state["task_id"], SCENARIOS[state["scenario"]]
    before, replies, was = plain(rig.entries(task_id)), replies_of(rig, task_id), rig.get(task_id)
    rig.check()
    carry_on(rig, task_id, scenario)
    rig.check()
    assert plain(rig.entries(task_id))[: len(before)] == before
    assert len(rig.model.requests) == replies_of(rig, task_id) - replies  # type: ignore[attr-defined]
    status = rig.get(task_id).status
    if was.status is Status.CANCELLED or was.cancel_requested:
        assert status is Status.CANCELLED
        return
    assert status is (Status.COMPLETED if scenario.ends is Status.CANCELLED else scenario.ends)
    assert {path.name: path.read_text() for path in tmp_path.glob("*.txt")} == scenario.files
    assert all(not result.get("is_error") for result in rig.results(task_id).values())


def test_this_release_has_its_states() -> None:
    """Every marker, every status that a task can have now, and a command that ended while nobody listened."""
    states = [state for state in RECORDED.values() if state["release"] == __version__]
    tasks = [state["keys"][f"np:{{turns}}:task:{state['task_id']}"]["value"] for state in states]
    assert {json.loads(task["marker"])["name"] for task in tasks} == {marker.value for marker in MarkerName}
    assert {task["status"] for task in tasks} == {status.value for status in Status} - {Status.BLOCKED}
    assert any(state["where"] == "running-leases-toolstarted-ended" for state in states)


def test_the_recorder_records_what_is_kept(valkey: ValkeyProcess, tmp_path: Path) -> None:
    """The script that makes the states of a release still makes them."""
    made = [state["where"] for state in record("permission", valkey, tmp_path / "made")]
    assert made == [state["where"] for state in states_of(STATES / __version__ / "permission.json")]
