"""Flower over our app has a login or was asked to be open; sweeps without anything to do are not told to it."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from neuraphage.queue.names import SWEEP
from neuraphage.queue.patched.flower import COLUMNS, FLOWER_COMMAND, OPEN_VARIABLE, guard_flower, show_reason
from neuraphage.runtime.sweep import NOTHING_DUE, SKIPPED
from neuraphage.worker.quiet import SweepRequest

LOGIN = {"basic_auth": ["user:password"], "auth": ""}
NO_LOGIN = {"basic_auth": None, "auth": ""}


def options(**chosen: Any) -> Any:
    default = "name,uuid"
    known = {"tasks-columns": SimpleNamespace(default=default)}
    return SimpleNamespace(**{"format_task": None, "tasks_columns": default, "_options": known} | chosen)


def guarded() -> Any:
    command = SimpleNamespace(Flower=lambda **given: given)
    guard_flower({FLOWER_COMMAND: command})
    guard_flower({FLOWER_COMMAND: command})  # a second load of the app guards no guard
    return command.Flower


@pytest.mark.parametrize("wanted", ["", "false", "0"])
def test_without_a_login_it_does_not_start(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    """With what to set instead; Flower itself would show everything to everyone."""
    monkeypatch.setenv(OPEN_VARIABLE, wanted)
    with pytest.raises(SystemExit) as end:
        guarded()(options=options(**NO_LOGIN))
    assert "FLOWER_BASIC_AUTH" in str(end.value)
    assert OPEN_VARIABLE in str(end.value)


def test_an_open_one_must_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """By Flower's own variable."""
    monkeypatch.setenv(OPEN_VARIABLE, "true")
    assert guarded()(options=options(**NO_LOGIN))["options"].format_task is show_reason


def test_a_persons_own_list_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours are defaults only."""
    monkeypatch.delenv(OPEN_VARIABLE, raising=False)
    made = guarded()(options=options(**LOGIN))["options"]
    assert (made.tasks_columns, made.format_task) == (COLUMNS, show_reason)
    own = guarded()(options=options(**LOGIN, tasks_columns="name", format_task=len))["options"]
    assert (own.tasks_columns, own.format_task) == ("name", len)


def test_metrics_need_the_login() -> None:
    """In a process of its own, since Flower's class is changed: what `celery flower` runs, asked over HTTP."""
    program = """
import sys
from tornado.testing import AsyncHTTPTestCase
import flower.command
from flower.app import Flower
from flower.urls import settings
from flower.options import default_options
from tornado.options import options
from neuraphage.queue.patched.flower import guard_flower
from neuraphage.queue.app import make_app
from neuraphage.settings import Settings

guard_flower()
options.basic_auth = ["user:password"]

class Case(AsyncHTTPTestCase):
    def get_app(self):
        return flower.command.Flower(capp=make_app(Settings()), options=options, **settings)
    def runTest(self):
        codes = [self.fetch(p).code for p in ("/metrics", "/", "/tasks", "/api/tasks", "/healthcheck")]
        inside = self.fetch("/metrics", auth_username="user", auth_password="password").code
        print(codes, inside)

import unittest
result = unittest.TextTestRunner(stream=sys.stderr).run(Case())
"""
    servers = {"NEURAPHAGE_STATE_URL": "redis://127.0.0.1:1/1", "NEURAPHAGE_BROKER_URL": "redis://127.0.0.1:1/0"}
    ran = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **servers}, capture_output=True, text=True, check=False
    )
    assert ran.stdout.strip() == "[401, 401, 401, 401, 200] 200", ran.stdout + ran.stderr


def test_a_failed_turn_has_its_reason_in_the_list() -> None:
    """In the place of the result, which it does not have."""
    args = f"turn 1 after task_created, task-{'0' * 8}-{'0' * 4}-{'0' * 4}-{'0' * 4}-{'0' * 12}"
    thrown = "TaskFailed('task failed: request_sent: No money. (tidy up)')"
    shown = show_reason(SimpleNamespace(exception=thrown, result=None, args=args))
    assert (shown.result, shown.args) == ("failed: No money. (tidy up)", "turn 1 after task_created")
    lost = show_reason(SimpleNamespace(exception="WorkerLostError('gone')", result=None, args=None))
    assert (lost.result, lost.args) == ("WorkerLostError('gone')", None)
    assert show_reason(SimpleNamespace(exception=None, result="'done'", args="()")).result == "done"


class _Events:
    enabled = True

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, kind: str, **fields: Any) -> None:
        self.sent.append(f"{kind} {fields.get('result', '')}".strip())


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        (("task-succeeded", f"'{NOTHING_DUE}; 3 ms'"), []),
        (("task-succeeded", f"'{SKIPPED}'"), []),
        (("task-succeeded", "'1 recovered; 3 ms'"), ["task-received", "task-succeeded '1 recovered; 3 ms'"]),
        (("task-failed", ""), ["task-received", "task-failed"]),
    ],
)
def test_a_sweep_is_told_when_there_is_something_to_tell(ends: tuple[str, str], told: list[str]) -> None:
    """At its end; one that failed always."""
    events = _Events()
    request = SweepRequest.__new__(SweepRequest)
    request._eventer = events
    request.name, request._argsrepr, request._kwargsrepr = SWEEP, "()", "{}"
    request.id = "one"
    kind, result = ends
    request.send_event("task-started")
    request.send_event(kind, **({"result": result} if result else {}))
    assert events.sent == told


def test_sweeps_are_declared_so() -> None:
    """Celery tells of the arrival of a message before anything of ours runs."""
    from neuraphage.worker.tasks import sweep

    assert sweep.send_events is False
    assert sweep.Request == "neuraphage.worker.quiet:SweepRequest"
