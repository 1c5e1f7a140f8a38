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
from statekit import SCENARIOS, STATES, FollowingModel, aged, carry_on, replies_of, restore, settings_of, states_of
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


JUST_NOW_S = 1.0
LONG_AGO_S = 400 * 86_400.0


def upgraded(client: Any, folder: Path, state: dict[str, Any], age_s: float) -> Rig:
    """A worker of this release on what was stored so long ago."""
    settings = settings_of(folder)
    restore(aged(state, SystemClock().wall_ms(), age_s), client, folder, settings.data_dir / "spool")
    store = RedisStore(settings, SystemClock(), client=client)
    assert store.audit() == [], "the index of all ids, which 0.1.0 did not keep, is filled without a word"
    return new_rig(folder, FollowingModel(SCENARIOS[state["scenario"]]), client=client, settings=settings, store=store)


def plain(entries: list[dict[str, Any]]) -> list[str]:
    """Conversation entries as comparable text."""
    return [json.dumps(entry, sort_keys=True) for entry in entries]


def goes_on(client: Any, folder: Path, state: dict[str, Any], age_s: float) -> Rig:
    """Take a state to its end: nothing of the conversation changes, no committed reply is asked for again."""
    rig, task_id, scenario = upgraded(client, folder, state, age_s), state["task_id"], SCENARIOS[state["scenario"]]
    before, replies, was = plain(rig.entries(task_id)), replies_of(rig, task_id), rig.get(task_id)
    rig.check()
    carry_on(rig, task_id, scenario)
    rig.check()
    assert plain(rig.entries(task_id))[: len(before)] == before
    assert len(rig.model.requests) == replies_of(rig, task_id) - replies  # type: ignore[attr-defined]
    if was.status is Status.CANCELLED or was.cancel_requested:
        assert rig.get(task_id).status is Status.CANCELLED
    else:
        assert rig.get(task_id).status is (Status.COMPLETED if scenario.ends is Status.CANCELLED else scenario.ends)
    return rig


@pytest.mark.parametrize("name", RECORDED)
def test_a_stored_state_goes_on_to_its_end(client: Any, tmp_path: Path, name: str) -> None:
    """An upgrade a moment after it was stored: no outcome is lost, and the files are as the task was to leave them."""
    state = RECORDED[name]
    rig = goes_on(client, tmp_path, state, JUST_NOW_S)
    if rig.get(state["task_id"]).status is Status.CANCELLED:
        return
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.txt")} == SCENARIOS[
        state["scenario"]
    ].files
    assert all(not result.get("is_error") for result in rig.results(state["task_id"]).values())


@pytest.mark.parametrize("name", RECORDED)
def test_a_state_of_long_ago_goes_on_to_an_end(client: Any, tmp_path: Path, name: str) -> None:
    """A stack that stood still for 400 days goes on, too; a command whose record is gone by then has no outcome."""
    state = RECORDED[name]
    rig = goes_on(client, tmp_path, state, LONG_AGO_S)
    broken = [result["content"] for result in rig.results(state["task_id"]).values() if result.get("is_error")]
    assert all("It was announced so long ago that its record is gone" in str(content) for content in broken), broken
    announced = state["where"] == "running-leases-toolstarted" and "run_command" in str(state["keys"])
    assert announced or not broken


def test_this_release_has_its_states() -> None:
    """Every marker, every status that a task can have now, and a command that ended while nobody listened."""
    states = [state for state in RECORDED.values() if state["release"] == __version__]
    tasks = [state["keys"][f"np:{{turns}}:task:{state['task_id']}"]["value"] for state in states]
    later = {MarkerName.SUMMARY_SENT.value, MarkerName.SUMMARY_RECEIVED.value}
    assert {json.loads(task["marker"])["name"] for task in tasks} == {marker.value for marker in MarkerName} - later
    assert {task["status"] for task in tasks} == {status.value for status in Status} - {Status.BLOCKED}
    assert any(state["where"] == "running-leases-toolstarted-ended" for state in states)


def test_the_recorder_records_what_is_kept(valkey: ValkeyProcess, tmp_path: Path) -> None:
    """The script that makes the states of a release still makes them, but for moments that there are no more.

    Since a claim announces the call of the model, no task that goes straight on is leased without one.
    """
    made = [state["where"] for state in record("permission", valkey, tmp_path / "made")]
    kept = [state["where"] for state in states_of(STATES / __version__ / "permission.json")]
    assert set(made) <= set(kept)
    assert (made[0], made[-1]) == (kept[0], kept[-1])
    assert len(made) >= len(kept) - 2
