"""What our patched parts rely on is there in the installed versions: an upgrade that removes it is noticed here."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest
from celery import Celery
from celery.app.amqp import AMQP
from celery.bin import worker as _worker  # noqa: F401 - completes the import of celery.worker
from celery.concurrency.base import BasePool
from celery.loaders.app import AppLoader
from celery.worker import state
from celery.worker.consumer.consumer import Consumer
from celery.worker.request import Request
from kombu import Connection
from kombu.asynchronous.hub import Hub
from kombu.asynchronous.timer import Timer
from kombu.transport import redis as kombu_redis
from kombu.transport import virtual
from kombu.utils import json as kombu_json

import neuraphage
from reliedon import method, read_against, sets, tell_unread, unread
from source_tree import ROOT

PATCHED = ROOT / "neuraphage" / "queue" / "patched"
CHANNEL, POLLER, QOS = kombu_redis.Channel, kombu_redis.MultiChannelPoller, kombu_redis.QoS
INNER = re.compile(
    r"(?:from|import) "
    r"(celery\.(?:worker|app|loaders|concurrency|bin)|kombu\.(?:transport|asynchronous|utils)|billiard|flower)\b"
)
"""Modules that are no part of the public face of these libraries."""

HEADINGS = ["Changes", "Why", "Read against"]

RELIED_ON = {
    "app": lambda: [
        method(AppLoader, "import_from_cwd", "module", "imp", "package"),
        method(Celery, "connection", "hostname"),
        method(Celery, "connection_for_read", "url"),
        method(Celery, "connection_for_write", "url"),
        {"backend_cls", "loader_cls", "builtin_fixups", "amqp_cls"} <= vars(Celery).keys(),
        sets(Celery.__init__, "builtin_fixups", "amqp_cls", "loader_cls"),
    ],
    "connections": lambda: [
        AMQP.Connection is Connection,
        method(Connection, "_ensure_connection", "interval_start", "interval_step", "interval_max"),
        sets(Connection.ensure_connection, "_ensure_connection"),
    ],
    "consumer": lambda: [
        CHANNEL._in_poll is False,
        CHANNEL._brpop_sent_at is None,
        sets(CHANNEL._brpop_start, "_in_poll", "_brpop_sent_at", "brpop_timeout"),
        method(BasePool, "maintain_pool"),
        method(Timer, "call_repeatedly", "secs", "fun", "args"),
        sets(Consumer.__init__, "timer", "pool"),
    ],
    "slots": lambda: [
        isinstance(state.requests, dict),
        hasattr(state.reserved_requests, "discard"),
        "reserved_requests" in inspect.getsource(state.task_ready),
        method(Hub, "call_soon", "callback"),
        sets(Consumer.__init__, "hub"),
    ],
    "unacked": lambda: [
        method(QOS, "ack", "delivery_tag"),
        sets(virtual.QoS.__init__, "_delivered"),
        sets(virtual.Channel.basic_ack, "qos", "ack"),
    ],
    "unreadable": lambda: [
        method(virtual.Transport, "_deliver", "message", "queue"),
        method(POLLER, "on_readable", "fileno"),
        sets(kombu_redis.Transport.__init__, "cycle"),
        sets(virtual.Message.__init__, "_raw"),
        sets(virtual.QoS.__init__, "_delivered"),
        method(virtual.Channel, "basic_reject", "delivery_tag", "requeue"),
        method(state, "task_ready", "request"),
        method(kombu_json, "loads", "s"),
    ],
    "requests": lambda: [
        method(Request, "send_event", "type", "fields"),
        method(Request, "terminate", "pool", "signal"),
        {"eventer", "id", "name", "argsrepr", "kwargsrepr", "app", "args"} <= set(dir(Request)),
        sets(Request.__init__, "_eventer", "_argsrepr", "_kwargsrepr"),
    ],
    "flower": lambda: [
        method(importlib.import_module("flower.app").Flower, "__init__", "options"),
        hasattr(importlib.import_module("flower.command"), "Flower"),
        method(importlib.import_module("flower.views.monitor").Metrics, "get"),
        callable(importlib.import_module("tornado.web").authenticated),
        {"basic-auth", "auth", "format-task", "tasks-columns"}
        <= importlib.import_module("flower.options").options._options.keys(),
    ],
}
"""For each of our modules: what it calls, replaces or reads."""


@pytest.mark.parametrize("name", RELIED_ON)
def test_what_a_patched_part_relies_on_is_there(name: str) -> None:
    """By signature or by attribute, each at its place in the list."""
    assert [place for place, is_there in enumerate(RELIED_ON[name]()) if not is_there] == []


def test_each_patched_part_says_what_why_and_of_which_versions() -> None:
    """And has a row above."""
    modules = {path.stem: path for path in PATCHED.glob("*.py") if path.stem != "__init__"}
    assert modules.keys() == RELIED_ON.keys()
    for name in modules:
        said = importlib.import_module(f"neuraphage.queue.patched.{name}").__doc__ or ""
        assert re.findall(r"^(Changes|Why|Read against): \S", said, re.MULTILINE) == HEADINGS, name
        tell_unread(name, said)


def test_what_is_newer_than_what_was_read_is_noticed() -> None:
    """By number and not by text; what is older is no fault, since the oldest allowed is tried in CI."""
    said = "It.\n\nRead against: Celery 5.7.0, redis-py 8.1.0.\n"
    assert read_against(said) == {"celery": "5.7.0", "redis": "8.1.0"}
    assert unread(said, {"celery": "5.10.0", "redis": "8.1.0"}.__getitem__) == ["celery"]
    assert unread(said, {"celery": "5.6.3", "redis": "8.1.1.post1"}.__getitem__) == ["redis"]
    with pytest.raises(KeyError):
        read_against("Read against: Selery 5.7.0.")
    with pytest.warns(UserWarning, match="a part was read against an older celery"):
        tell_unread("a part", "Read against: Celery 0.1.0.")


def test_what_is_not_public_is_used_nowhere_else() -> None:
    """Neither a module of theirs nor a part that begins with an underscore."""
    home = neuraphage.__path__[0]
    files = [path for folder in (home, str(ROOT / "workers")) for path in sorted((ROOT / folder).rglob("*.py"))]
    others = [path for path in files if PATCHED not in path.parents and "demo_project" not in path.parts]
    assert [str(path) for path in others if INNER.search(path.read_text(encoding="utf-8"))] == []
