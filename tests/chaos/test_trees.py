"""Trees of tasks over a few files, with slots, locks and money in force, by workers that are killed all the time."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from at_files import overlaps
from chaos_run import told_seed
from tree_site import TreeSite
from tree_work import CALL_MICROUSD, Shape, Told, answer, asked_again, most_at_work

from eventkit import all_index
from neuraphage.model.task import Status, TaskRecord
from neuraphage.settings import Settings
from neuraphage.store import queries
from neuraphage.testing.scripted_api.server import ScriptedServer
from servers import ValkeyProcess

pytestmark = [pytest.mark.real_redis, pytest.mark.timeout(3_600)]
WORKERS, MAX_RUNNING, OF_A_TREE = 4, 6, 3
LONG, LONG_TREES, LONG_POOR = Shape(4, 5), 8, 1
SHORT, SHORT_TREES, SHORT_POOR = Shape(2, 3), 3, 1


@pytest.fixture
def provider() -> Iterator[ScriptedServer]:
    """The API, which writes down each call."""
    with ScriptedServer({"work": answer}) as server:
        yield server


@pytest.fixture
def site(provider: ScriptedServer, seed: int) -> Iterator[TreeSite]:
    """A server and workers, and nothing to do yet."""
    with tempfile.TemporaryDirectory(prefix="np-") as name, ValkeyProcess(Path(name)) as server:
        folder = Path(name) / "work"
        folder.mkdir()
        settings = Settings(
            namespace="trees", data_dir=Path(name) / "data", lock_wait_s=3_600.0, max_recoveries=1_000_000,
            max_recovery_cost_microusd=10**12, first_republish_s=1.0, max_republish_s=2.0, pool_wait_s=0.05,
            max_running=MAX_RUNNING, label_max_running=(f"tree=* {OF_A_TREE}",), namespace_events_max=10**7,
        )  # fmt: skip
        site = TreeSite(settings, folder, f"unix://{server.socket}", provider.url, seed)
        for _ in range(WORKERS):
            site.start()
        yield site
        site.close()


def test_trees_of_killed_workers_come_to_their_end(
    site: TreeSite, provider: ScriptedServer, chaos_s: float, seed: int, announce: Callable[[str], None]
) -> None:
    """Each subtask once, no two tasks at a file, no slot too many, no reply twice, no more money, and nothing left."""
    shape, trees, poor = (LONG, LONG_TREES, LONG_POOR) if chaos_s else (SHORT, SHORT_TREES, SHORT_POOR)
    began_s, tasks, asked = time.monotonic(), 0, 0
    with told_seed(seed):
        while not tasks or time.monotonic() < began_s + chaos_s:
            roots = site.begin(shape, trees, poor)
            ids = site.run(1.0 if chaos_s else 0.5)
            tasks += len(ids)
            requests = provider.log()["entries"]
            _check(site, roots, ids, requests[asked:], shape, poor)
            asked = len(requests)
        announce(
            f"trees, --chaos-seed {seed}: {tasks} tasks, {len(site.dead)} kills, {asked} requests,"
            f" {time.monotonic() - began_s:.0f} s, most slots seen {dict(site.sampled)}"
        )
        assert site.sampled["*"] <= MAX_RUNNING
        assert all(most <= OF_A_TREE for pool, most in site.sampled.items() if pool != "*")


def _check(
    site: TreeSite, roots: list[str], ids: list[str], requests: list[dict[str, object]], shape: Shape, poor: int
) -> None:
    """What must be there when all is over."""
    rig = site.rig
    rig.check()
    records = {one: rig.get(one) for one in ids}
    for number, root in enumerate(roots):
        tree = [record for record in records.values() if record.spec.labels == {"tree": f"t{number}"}]
        _check_tree(records[root], tree, shape, is_poor=number < poor)
    histories = {one: queries.events(rig.store.context, one) for one in ids}
    kinds = {one: Counter(event.kind for event in history) for one, history in histories.items()}
    assert all(count["TaskCreated"] == 1 for count in kinds.values())
    assert sum(count["SubtaskSpawned"] for count in kinds.values()) == len(ids) - len(roots)
    committed_ms = {
        event.data["request_id"]: event.at_ms or 0
        for history in histories.values()
        for event in history
        if event.kind == "ResponseReceived"
    }
    assert asked_again(requests, committed_ms) == []
    assert [entry for entry in requests if str(entry["outcome"]).startswith("refused")] == []
    assert overlaps((rig.folder / "touched").read_text(encoding="utf-8").splitlines()) == []
    told = [Told(int(name.partition("-")[0]), kind, task) for name, kind, task in all_index(rig.store.context)]
    most = most_at_work(told, {one: record.spec.labels["tree"] for one, record in records.items()})
    assert most["*"] <= MAX_RUNNING
    assert max(count for label, count in most.items() if label != "*") <= OF_A_TREE
    keys, client = rig.kit.keys, rig.client
    assert client.exists(keys.locks, keys.line, keys.lanes, keys.edges, keys.leases, keys.outbox, keys.timers) == 0
    pools = client.hgetall(keys.pools)
    assert {pools[name] for name in pools if name.startswith(b"reserved ")} <= {b"0"}


def _check_tree(root: TaskRecord, tree: list[TaskRecord], shape: Shape, *, is_poor: bool) -> None:
    spent = sum(record.counters.cost_microusd for record in tree)
    limit = root.spec.limits.max_cost_microusd
    assert root.counters.cost_microusd + root.below_microusd == spent
    assert spent <= limit + CALL_MICROUSD
    if is_poor:
        assert spent >= limit
        return
    assert Counter(record.status for record in tree) == {Status.COMPLETED: shape.tasks}
    assert spent == shape.cost_microusd
    assert all(record.counters.model_calls == record.counters.iteration for record in tree)


def test_each_check_sees_what_it_is_for() -> None:
    """A slot too many, a reply that is asked for again; what is freed in one write with what begins is none."""
    labels = {"a": "x", "b": "x", "c": "y"}
    freed = [Told(1, "TaskScheduled", "a"), Told(2, "TaskScheduled", "b"), Told(2, "TaskCompleted", "a")]
    assert most_at_work(freed, labels) == {"*": 1, "x": 1}
    more = [Told(1, "TaskScheduled", "a"), Told(2, "TaskScheduled", "b"), Told(3, "TaskScheduled", "c")]
    assert most_at_work(more, labels) == {"*": 3, "x": 2, "y": 1}
    one = {"request_hash": "h", "request_id": "1", "received_at_s": 1.0}
    again = {"request_hash": "h", "request_id": "2", "received_at_s": 2.0}
    assert asked_again([one, again], {"2": 2_500}) == []
    assert asked_again([one, again], {"1": 1_500}) == ["2 repeats a reply that was committed"]
