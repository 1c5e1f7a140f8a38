"""Real workers on a state server and a broker that Sentinels name, through the death of the master."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from neuraphage.client import Client
from neuraphage.errors import StoreUnavailable
from neuraphage.model.task import Status
from neuraphage.settings import Settings
from patience import PATIENCE_S
from remotekit import PASSWORD, SERVICE, SentinelGroup, running, sentinel_group
from stackkit import Stack
from stackkit.scripts import SLOW, command, task_prompt, turn
from stackkit.stack import FAST
from stackkit.waiting import wait_for

pytestmark = pytest.mark.real_workers
LIMIT_S = PATIENCE_S


@pytest.fixture
def group(tmp_path: Path) -> Iterator[SentinelGroup]:
    made = sentinel_group(tmp_path / "group", PASSWORD, "sent1nel")
    with running(made.master, made.replica, made.sentinel):
        wait_for(lambda: made.is_whole, "the replica to follow")
        yield made


def test_tasks_go_on_with_the_new_master(group: SentinelGroup, tmp_path: Path) -> None:
    """A reply streams while the master dies; the worker finds the new one, and the task ends well."""
    login, query = f":{quote(PASSWORD, safe='')}@", f"?service_name={SERVICE}&sentinel_password=sent1nel"
    urls = {
        name: f"sentinel://{login}{','.join(group.hosts)}/{database}{query}"
        for name, database in (("state_url", 1), ("broker_url", 0))
    }
    settings = Settings(**{name: SecretStr(url) for name, url in urls.items()}, data_dir=tmp_path / "s", **FAST)
    (tmp_path / "s").mkdir()
    with Stack(tmp_path / "s", first_republish_s=0.5) as stack, Client(settings) as client:
        worker = stack.start_worker(**urls)
        first = client.submit(task_prompt(turn("Hello.")))
        assert client.wait(first, timeout_s=LIMIT_S).status is Status.COMPLETED
        prompt = task_prompt(turn("One moment. " * 8, command("echo one"), **SLOW), turn("Done."))
        (tmp_path / "work").mkdir()
        task_id = client.submit(prompt, working_dir=str(tmp_path / "work"), allow=["*"])
        client.wait(task_id, until=[Status.RUNNING], timeout_s=LIMIT_S)
        with group.master.client() as master:
            assert master.wait(1, 10_000) == 1  # what was acknowledged must be there to go on from
        group.master.kill()
        wait_for(lambda: answers(client), "the new master", limit_s=LIMIT_S)
        record = client.wait(task_id, timeout_s=LIMIT_S)
        assert record.status is Status.COMPLETED
        assert record.counters.recoveries_total == 0
        later = client.submit(task_prompt(turn("Hello again.")))
        assert client.wait(later, timeout_s=LIMIT_S).status is Status.COMPLETED
        assert worker.is_alive()
        assert PASSWORD not in worker.output()
        assert "sent1nel" not in worker.output()


def answers(client: Client) -> bool:
    """Whether the state server answers."""
    try:
        client.counts()
    except StoreUnavailable:
        return False
    return True
