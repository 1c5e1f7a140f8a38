"""Record the stored states of this release: `python tests/release/record_states.py`.

Run it once for each release, when its number is set, and commit what it writes: later releases must go on from it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from neuraphage import __version__  # noqa: E402 - the path comes first
from neuraphage.model.base import SCHEMA_VERSION  # noqa: E402
from neuraphage.runtime.clock import SystemClock  # noqa: E402
from neuraphage.store.tasks import RedisStore  # noqa: E402
from servers import ValkeyProcess  # noqa: E402
from statekit import SCENARIOS, STATES, FollowingModel, Recorder, carry_on, settings_of  # noqa: E402
from turnkit import new_rig  # noqa: E402


def main() -> None:
    """Play every scenario and write each new kind of state that it passes."""
    target = STATES / __version__
    target.mkdir(exist_ok=True)
    for old in target.glob("*.json"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="np-") as folder, ValkeyProcess(Path(folder)) as server:
        for name in SCENARIOS:
            states = record(name, server, Path(folder) / name)
            text = json.dumps(states, indent=1, ensure_ascii=False, sort_keys=True)
            (target / f"{name}.json").write_text(text + "\n", encoding="utf-8")
            print(f"{name}: {len(states)} states")


def record(name: str, server: ValkeyProcess, folder: Path) -> list[dict[str, Any]]:
    """The states of one scenario, one for each place, status, marker and spool that it passes."""
    scenario, client = SCENARIOS[name], server.client()
    client.flushall()
    folder.mkdir()
    settings = settings_of(folder)
    store = RedisStore(settings, SystemClock(), client=client)
    rig = new_rig(folder, FollowingModel(scenario, recording=True), client=client, settings=settings, store=store)
    recorder = Recorder(store, folder, settings.data_dir / "spool")
    task_id = rig.submit(**scenario.spec)
    if scenario.act is not None:
        carry_on(rig, task_id, scenario, once=True)
        scenario.act(rig, task_id)
    carry_on(rig, task_id, scenario)
    recorder.take()
    kinds: dict[str, dict[str, Any]] = {}
    for state in recorder.states:
        task = state["keys"][f"np:{{turns}}:task:{task_id}"]["value"]
        marker = json.loads(task["marker"])["name"]
        places = [place for place in ("outbox", "leases", "timers", "waits") if is_in(state, place, task_id)]
        where = "-".join([task["status"].lower(), *places, marker.replace("_", "")])
        ended = "-ended" if any(path.endswith("exit.json") for path in state["spool"]) else ""
        header = {"release": __version__, "schema": SCHEMA_VERSION, "scenario": name, "task_id": task_id}
        kinds.setdefault(f"{where}{ended}/{task['seq']}", {**header, "where": where + ended, **state})
    return list(kinds.values())


def is_in(state: dict[str, Any], place: str, task_id: str) -> bool:
    """Whether the task sits in this place."""
    rows = state["keys"].get(f"np:{{turns}}:{place}", {"value": []})["value"]
    return any(row[0] == task_id for row in rows)


if __name__ == "__main__":
    main()
