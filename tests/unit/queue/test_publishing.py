"""Publishing turns: one connection a thread, kept over messages, made again when the server has closed it."""

from __future__ import annotations

import re
import tempfile
import uuid
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest
import redis
from celery import Celery

from neuraphage.queue.app import make_app
from neuraphage.queue.dispatcher import STILL_WAITS_S, QueueDispatcher
from neuraphage.queue.names import RUN_QUEUE, RUN_TURN
from neuraphage.queue.turn_message import message_id, turn_of
from neuraphage.settings import Settings
from neuraphage.store.round_trip import RoundTrips
from neuraphage.waking import build_dispatcher
from servers import ValkeyProcess

pytestmark = pytest.mark.real_redis

QUEUE = f"np:{{default}}:broker:{RUN_QUEUE}"


@pytest.fixture
def server() -> Iterator[ValkeyProcess]:
    """A server of this test alone: its connections are counted."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder, ValkeyProcess(Path(folder)) as process:
        yield process


@pytest.fixture
def dispatcher(server: ValkeyProcess) -> QueueDispatcher:
    """The real one, on that server."""
    return build_dispatcher(Settings(broker_url=f"redis+socket://{server.socket}"))


def connections(admin: redis.Redis) -> list[str]:
    """Ids of everybody's connections but the test's own."""
    return [row["id"] for row in admin.client_list() if row["id"] != str(admin.client_id())]


def sent(admin: redis.Redis) -> list[int]:
    """Iterations of the messages that wait, the oldest first."""
    headers = [orjson.loads(raw)["headers"] for raw in admin.lrange(QUEUE, 0, -1)]
    return [int(header["id"].split(".")[1]) for header in reversed(headers)]


def test_a_thread_keeps_its_connection(server: ValkeyProcess, dispatcher: QueueDispatcher) -> None:
    """A hundred messages of one thread open no more connections than two messages, and come in their order."""
    admin = server.client()
    assert all(dispatcher.publish_turn("task-1", turn, turn + 1) for turn in range(2))
    opened = connections(admin)
    assert all(dispatcher.publish_turn("task-1", turn, turn + 1) for turn in range(2, 100))
    assert connections(admin) == opened
    assert sent(admin) == list(range(100))


def test_a_closed_connection_is_made_again(server: ValkeyProcess, dispatcher: QueueDispatcher) -> None:
    """The server ends every connection between two messages, several times: each message arrives, once."""
    admin = server.client()
    for turn in range(6):
        assert dispatcher.publish_turn("task-1", turn, turn + 1)
        for row in connections(admin):
            admin.client_kill_filter(_id=row)
    assert sent(admin) == list(range(6))


def test_threads_have_connections_of_their_own(server: ValkeyProcess, dispatcher: QueueDispatcher) -> None:
    """Eight threads at once send a hundred messages each; none is lost or doubled."""
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda turn: dispatcher.publish_turn(f"task-{turn % 8}", turn, turn + 1), range(800))
    assert all(answers)
    assert sorted(sent(server.client())) == list(range(800))


def test_whether_a_message_waits(server: ValkeyProcess) -> None:
    """That none waits is asked each time; that one does is taken to hold for a moment, and then asked again."""
    times = [1_000.0]
    admin = server.client()
    dispatcher = QueueDispatcher([RoundTrips(admin)], "default", lambda: times[0])
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
    server: ValkeyProcess, dispatcher: QueueDispatcher
) -> None:
    """The turn is ended, and its message is left to the sweep; nothing is remembered of that."""
    assert not dispatcher.has_waiting()
    server.__exit__(None, None, None)
    assert dispatcher.has_waiting()
    assert dispatcher._waits_until_s < 0


def by_celery(app: Celery) -> None:
    """Send a turn's message as any program with Celery would."""
    own_id = message_id("task-1", 4, 9)
    app.send_task(RUN_TURN, args=("task-1", 4, 9), task_id=own_id, ignore_result=True)


def plain(raw: bytes) -> tuple[dict[str, Any], list[Any]]:
    """A message and its body, without what is random or of who sends it."""
    message = orjson.loads(raw)
    body = orjson.loads(b64decode(message.pop("body")))
    headers, properties = message["headers"], message["properties"]
    assert turn_of(headers["id"]) == ("task-1", 4)
    assert {headers["id"]} == {headers["root_id"], properties["correlation_id"]}
    assert re.fullmatch(r"gen\d+@\S+", headers["origin"])
    assert uuid.UUID(properties["delivery_tag"])
    for name in ("id", "root_id", "origin", "argsrepr"):
        headers[name] = ""
    for name in ("correlation_id", "delivery_tag", "delivery_info", "reply_to"):  # nobody waits for a reply
        properties[name] = ""
    return message, body


def test_the_message_is_celerys_own(server: ValkeyProcess, dispatcher: QueueDispatcher) -> None:
    """Field by field what the installed Celery and kombu write for the same call, in the same list."""
    app, admin = make_app(Settings(broker_url=f"redis+socket://{server.socket}")), server.client()
    by_celery(app)
    theirs = admin.rpop(QUEUE)
    assert dispatcher.publish_turn("task-1", 4, 9, "turn_finished")
    ours = admin.rpop(QUEUE)
    assert orjson.loads(ours)["properties"]["delivery_info"] == {"exchange": "", "routing_key": RUN_QUEUE}
    assert orjson.loads(ours)["headers"]["argsrepr"] == "turn 5 after turn_finished, task-1"
    assert plain(theirs) == plain(ours)
    app.close()


def test_the_next_server_of_a_list_is_asked_when_one_is_away(server: ValkeyProcess) -> None:
    """As kombu does with several addresses; the one that answered is kept to."""
    settings = Settings(broker_url=f"redis://127.0.0.1:1/0;redis+socket://{server.socket}", state_url="redis://s:1/1")
    dispatcher = build_dispatcher(settings)
    assert [dispatcher.publish_turn("task-1", turn, turn + 1) for turn in range(3)] == [True] * 3
    assert (dispatcher._at, sent(server.client())) == (1, [0, 1, 2])
    server.__exit__(None, None, None)
    assert not dispatcher.publish_turn("task-1", 3, 4)
    assert dispatcher.queue_length() is None
