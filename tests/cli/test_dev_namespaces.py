"""Two projects on one server, kept apart by their namespaces: broker, state and processes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import redis
from pydantic import SecretStr

from devstack import DevStack, wait_for
from neuraphage.client import Client
from neuraphage.dev.address import ServerAddress
from neuraphage.dev.server import EmbeddedServer
from neuraphage.model.task import Status
from neuraphage.queue.app import make_app
from neuraphage.queue.names import RUN_QUEUE
from neuraphage.settings import Settings
from neuraphage.waking import build_dispatcher
from patience import PATIENCE_S

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
PLAY = ("--script", "runscript:play")
NAMES = ("one", "two")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, for the socket's sake."""
    with tempfile.TemporaryDirectory(prefix="np-") as made:
        yield Path(made)


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedServer]:
    """A server that no stack has started."""
    with EmbeddedServer(folder / "own") as running:
        yield running


def settings_of(address: ServerAddress, namespace: str, folder: Path) -> Settings:
    """How a client of this namespace reaches the server."""
    urls = {"state_url": SecretStr(address.state_url), "broker_url": SecretStr(address.broker_url)}
    return Settings(namespace=namespace, data_dir=folder, **urls)


def stack_of(server: EmbeddedServer, namespace: str, folder: Path) -> DevStack:
    """`neuraphage dev` with explicit URLs and a namespace."""
    folder.mkdir(exist_ok=True)
    stack = DevStack(folder, PLAY)
    stack.env |= {
        "NEURAPHAGE_STATE_URL": server.address.state_url,
        "NEURAPHAGE_BROKER_URL": server.address.broker_url,
        "NEURAPHAGE_NAMESPACE": namespace,
    }
    return stack


def admin(server: EmbeddedServer, db: int) -> redis.Redis:
    """A client that sees every key of a database."""
    password = (server.files.folder / "password").read_text(encoding="utf-8")
    return redis.Redis(unix_socket_path=str(server.address.socket_path), password=password, db=db)


def keys(server: EmbeddedServer, db: int, pattern: str = "*") -> list[str]:
    """All keys of a database that match."""
    with admin(server, db) as client:
        return [key.decode() for key in client.scan_iter(match=pattern, count=1_000)]


def test_messages_lengths_and_purges_stay_apart(server: EmbeddedServer, folder: Path) -> None:
    """A queue of one namespace is counted, read and purged without the other's; each key says whose it is."""
    settings = {name: settings_of(server.address, name, folder) for name in NAMES}
    apps = {name: make_app(of_one) for name, of_one in settings.items()}
    sent = {name: build_dispatcher(of_one) for name, of_one in settings.items()}
    for number in range(3):
        assert sent["one"].publish_turn("task-of-one", number, number)
    assert sent["two"].publish_turn("task-of-two", 0, 1)
    assert (sent["one"].queue_length(), sent["two"].queue_length()) == (3, 1)
    with apps["one"].connection_for_read() as connection:
        queue = connection.SimpleQueue(RUN_QUEUE)
        message = queue.get(timeout=PATIENCE_S)
        assert message.payload[0][0] == "task-of-one"
        message.requeue()
        queue.get(timeout=PATIENCE_S)  # left unacknowledged, and put back when the connection closes
        queue.close()
    assert (sent["one"].queue_length(), sent["two"].queue_length()) == (3, 1)
    assert all(key.startswith(("np:{one}:broker:", "np:{two}:broker:")) for key in keys(server, 0))
    apps["one"].control.purge()
    assert (sent["one"].queue_length(), sent["two"].queue_length()) == (0, 1)
    apps["two"].control.purge()


def test_two_stacks_on_one_server(server: EmbeddedServer, folder: Path, tmp_path: Path) -> None:
    """A task each, done by its own workers; remote control reaches one's own; all of one deleted leaves the other."""
    stacks = {name: stack_of(server, name, folder / name) for name in NAMES}
    settings = {name: settings_of(server.address, name, folder) for name in NAMES}
    try:
        with ThreadPoolExecutor(len(stacks)) as pool:
            list(pool.map(DevStack.start, stacks.values()))
        refused = stack_of(server, "one", folder / "third").cli("dev", *PLAY)
        assert refused.code == 2
        assert "namespace 'one' of this server is in use by control-one@" in refused.err
        assert "NEURAPHAGE_NAMESPACE" in refused.err
        done = {name: completed(settings[name], tmp_path) for name in NAMES}
        for name, other in (NAMES, NAMES[::-1]):
            log = (stacks[name].data_dir / "logs" / "worker.log").read_text(encoding="utf-8")
            assert done[name] in log
            assert done[other] not in log
            ping = partial(make_app(settings[name]).control.ping, timeout=2.0)
            answers = wait_for(ping, "an answer")
            assert {node.split("@")[0] for answer in answers for node in answer} <= {
                f"worker-{name}",
                f"control-{name}",
            }
        for db in (0, 1):
            assert all(key.startswith(("np:{one}:", "np:{two}:")) for key in keys(server, db))
            with admin(server, db) as client:
                client.delete(*keys(server, db, "np:{one}:*"))
        with Client(settings["one"]) as one, Client(settings["two"]) as two:
            assert one.list() == []
            assert [record.spec.task_id for record in two.list()] == [done["two"]]
        completed(settings["two"], tmp_path)
    finally:
        with ThreadPoolExecutor(len(stacks)) as pool:
            list(pool.map(DevStack.kill, stacks.values()))


def completed(settings: Settings, folder: Path) -> str:
    """Run a task to its end; returns its id."""
    with Client(settings) as client:
        task_id = client.submit("slow please", working_dir=str(folder), allow=["*"])
        wait_for(lambda: client.get(task_id).status is Status.COMPLETED, "the task")
    return task_id
