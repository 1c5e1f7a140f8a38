"""Publishing turns: one connection a thread, kept over messages, made again when the server has closed it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest
import redis

from neuraphage.queue import RUN_QUEUE, CeleryDispatcher, make_app
from neuraphage.queue.dispatcher import STILL_WAITS_S
from neuraphage.settings import Settings
from servers import ValkeyProcess

pytestmark = pytest.mark.real_redis

QUEUE = f"np:{{default}}:broker:{RUN_QUEUE}"


@pytest.fixture
def server() -> Iterator[ValkeyProcess]:
    """A server of this test alone: its connections are counted."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder, ValkeyProcess(Path(folder)) as process:
        yield process


@pytest.fixture
def dispatcher(server: ValkeyProcess) -> CeleryDispatcher:
    """The real one, on that server."""
    return CeleryDispatcher(make_app(Settings(broker_url=f"redis+socket://{server.socket}")))


def connections(admin: redis.Redis) -> list[str]:
    """Ids of everybody's connections but the test's own."""
    return [row["id"] for row in admin.client_list() if row["id"] != str(admin.client_id())]


def sent(admin: redis.Redis) -> list[int]:
    """Iterations of the messages that wait, the oldest first."""
    headers = [orjson.loads(raw)["headers"] for raw in admin.lrange(QUEUE, 0, -1)]
    return [int(header["id"].split(".")[1]) for header in reversed(headers)]


def test_a_thread_keeps_its_connection(server: ValkeyProcess, dispatcher: CeleryDispatcher) -> None:
    """A hundred messages of one thread open no more connections than two messages, and come in their order."""
    admin = server.client()
    assert all(dispatcher.publish_turn("task-1", turn, turn + 1) for turn in range(2))
    opened = connections(admin)
    clients = [dispatcher._producer().channel.conn_or_acquire().__enter__() for _ in range(3)]
    assert all(dispatcher.publish_turn("task-1", turn, turn + 1) for turn in range(2, 100))
    assert (connections(admin), clients) == (opened, clients[:1] * 3)
    assert sent(admin) == list(range(100))


def test_a_closed_connection_is_made_again(server: ValkeyProcess, dispatcher: CeleryDispatcher) -> None:
    """The server ends every connection between two messages, several times: each message arrives, once."""
    admin = server.client()
    for turn in range(6):
        assert dispatcher.publish_turn("task-1", turn, turn + 1)
        for row in connections(admin):
            admin.client_kill_filter(_id=row)
    assert sent(admin) == list(range(6))


def test_threads_have_connections_of_their_own(server: ValkeyProcess, dispatcher: CeleryDispatcher) -> None:
    """Eight threads at once send a hundred messages each; none is lost or doubled."""
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda turn: dispatcher.publish_turn(f"task-{turn % 8}", turn, turn + 1), range(800))
    assert all(answers)
    assert sorted(sent(server.client())) == list(range(800))


def test_whether_a_message_waits(server: ValkeyProcess) -> None:
    """That none waits is asked each time; that one does is taken to hold for a moment, and then asked again."""
    times = [1_000.0]
    app = make_app(Settings(broker_url=f"redis+socket://{server.socket}"))
    dispatcher, admin = CeleryDispatcher(app, lambda: times[0]), server.client()
    assert not dispatcher.has_waiting()
    dispatcher.publish_turn("task-1", 0, 1)
    assert dispatcher.has_waiting()
    admin.delete(QUEUE)
    times[0] += STILL_WAITS_S / 2
    assert dispatcher.has_waiting()
    times[0] += STILL_WAITS_S
    assert not dispatcher.has_waiting()
    dispatcher.publish_turn("task-1", 0, 1)
    assert dispatcher.has_waiting()


def test_a_broker_that_cannot_tell_counts_as_one_with_messages(
    server: ValkeyProcess, dispatcher: CeleryDispatcher
) -> None:
    """The turn is ended, and its message is left to the sweep; nothing is remembered of that."""
    assert not dispatcher.has_waiting()
    server.__exit__(None, None, None)
    assert dispatcher.has_waiting()
    assert dispatcher._waits_until_s < 0
