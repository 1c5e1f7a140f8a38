"""No key, password or login in any argv, log, page of Flower, process list or message, and none stored.

A stack as `neuraphage dev` runs it, with a key, a server password and a login that can be recognised, and a task whose
prompt, tool call and tool output hold another key. Then everything is looked at that others may look at.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import secrets
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis

from devstack import DevStack, wait_for
from neuraphage.client import Client
from neuraphage.queue.app import make_app
from neuraphage.settings import Settings
from neuraphage.testing.scripted_api import ScriptedServer
from patience import PATIENCE_S
from stackkit.flower import Flower, running_flower
from stackkit.scripts import command, plan, task_prompt, turn

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
ANSWER_S = 10.0
LETTERS = "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz") for _ in range(24))
"""In every secret here, in a new spelling in each run."""
OWN_KEY = f"own-{LETTERS}-api-key"
"""No known shape: only the workers know that it is a secret."""
LOGIN = f"login-{LETTERS}"
SHAPED = f"sk-ant-api03-{LETTERS}-Zq8sV2bN5mK1xW7cT4rL9pD3fH6jG0yB"
"""Known by its shape; nobody has it in an environment."""


@dataclass
class Scene:
    """A stack that has done its work, and what was seen meanwhile."""

    stack: DevStack
    settings: Settings
    flower: Flower
    flower_log: Path
    task: str
    commands: str
    """Everything that any client sent to the server."""
    argv: set[str] = field(default_factory=set)
    """Command lines of all processes of this machine, from the start of the task to its end."""

    @property
    def bodies(self) -> list[str]:
        """What messages, events and answers held, which went to the server in another spelling."""
        found = re.findall(r'"body": ?"([A-Za-z0-9+/=]+)"', self.commands)
        return [base64.b64decode(body).decode() for body in found]

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be nowhere, plain or as a login is sent."""
        password = (self.stack.data_dir / "server" / "password").read_text(encoding="utf-8").strip()
        assert len(password) > 16
        return (LETTERS, password, base64.b64encode(f"operator:{LOGIN}".encode()).decode())

    def found_in(self, text: str) -> list[str]:
        """The secrets that a text holds."""
        return [secret for secret in self.secrets if secret in text]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Run one task on a stack with Flower, and listen to the server meanwhile."""
    with contextlib.ExitStack() as ended:
        folder = Path(ended.enter_context(tempfile.TemporaryDirectory(prefix="np-", ignore_cleanup_errors=True)))
        model = ended.enter_context(ScriptedServer({"plan": plan}, accepted_keys=[OWN_KEY]))
        stack = DevStack(folder, ("--workers", "1"))
        stack.env |= {"ANTHROPIC_API_KEY": OWN_KEY, "NEURAPHAGE_ANTHROPIC_BASE_URL": model.url}
        stack.env["NEURAPHAGE_PRICES"] = "m 1 2"
        ended.callback(stack.kill)
        stack.start()
        settings = ended.enter_context(stack.client()).settings
        flower = ended.enter_context(running_flower(environment(stack, settings), folder, LOGIN))
        wait_for(lambda: any(flower.online().values()), "Flower to hear from the workers")
        make_app(settings).control.enable_events(reply=True, limit=2, timeout=ANSWER_S)  # as Flower soon does itself
        heard = ended.enter_context(listening(settings))
        argv = ended.enter_context(process_list())
        task = run_task(folder, settings)
        wait_for(lambda: sum(task in str(seen["args"]) for seen in flower.turns().values()) >= 2, "Flower to see it")
        yield Scene(stack, settings, flower, folder / "flower.log", task, "\n".join(heard), argv)


def environment(stack: DevStack, settings: Settings) -> dict[str, str]:
    """What Flower needs of the stack."""
    urls = {
        "NEURAPHAGE_STATE_URL": settings.state_url.get_secret_value(),
        "NEURAPHAGE_BROKER_URL": settings.broker_url.get_secret_value(),
    }
    return {name: value for name, value in stack.env.items() if name != "ANTHROPIC_API_KEY"} | urls


def run_task(folder: Path, settings: Settings) -> str:
    """A task that meets a key in its name, its prompt, a tool call, a tool output and a refused command."""
    work = folder / "work"
    work.mkdir()
    (work / "key.txt").write_text(f"token={SHAPED}\n", encoding="utf-8")
    calls = (command("cat key.txt; env"), command(f"echo {SHAPED}"), ("no_such_tool", {"key": SHAPED}))
    prompt = task_prompt(turn(f"I see {SHAPED}.", *calls), turn(f"Done with {SHAPED}."), note=f"with {SHAPED}")
    with Client(settings) as client:
        task = client.submit(prompt, name=f"use {SHAPED}", working_dir=str(work), allow=["*"], model="m")
        record = client.wait(task, timeout_s=PATIENCE_S)
    assert record.status.value == "Completed", record.detail
    return task


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[list[str]]:
    """MONITOR of the server: every command of every client, events and answers of workers among them."""
    heard: list[str] = []
    client = redis.Redis.from_url(settings.broker_url.get_secret_value())
    with client.monitor() as monitor:

        def listen() -> None:
            with contextlib.suppress(redis.ConnectionError, ValueError, OSError):
                for line in monitor.listen():
                    heard.append(line["command"])

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield heard
    client.close()


@contextlib.contextmanager
def process_list() -> Iterator[set[str]]:
    """Command lines of all processes, looked at again and again."""
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            for process in psutil.process_iter(["cmdline"]):
                seen.add(" ".join(process.info["cmdline"] or ()))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def test_no_secret_in_any_command_line(scene: Scene) -> None:
    """ps, as any user of the machine sees it: the stack, Flower and the tools' commands."""
    assert any("celery" in line and "worker" in line for line in scene.argv)
    assert any("flower" in line for line in scene.argv)
    assert [line for line in scene.argv if scene.found_in(line)] == []


def test_no_secret_in_any_log(scene: Scene) -> None:
    """Logs of all processes, of the server, of Flower, and what `dev` itself has said."""
    logs = {path: text_of(path) for path in scene.stack.data_dir.rglob("*.log")} | {
        scene.flower_log: text_of(scene.flower_log),
        Path("dev"): scene.stack.output(),
    }
    assert any(scene.task in text for text in logs.values()), "the logs must tell of the task"
    assert {path.name for path in logs} >= {"worker.log", "control.log", "beat.log", "flower.log"}
    assert {str(path): scene.found_in(text) for path, text in logs.items() if scene.found_in(text)} == {}


def text_of(path: Path) -> str:
    """A file's text, whatever bytes it holds."""
    return path.read_bytes().decode(errors="replace")


def test_no_secret_in_flower(scene: Scene) -> None:
    """All pages and the whole API; nothing at all without the login."""
    api = [scene.flower.get("/api/workers?refresh=1"), scene.flower.get("/api/tasks")]
    assert scene.task in api[1]
    node = re.search(r"worker-default@[^\"]+", api[0])
    assert node is not None
    (message, *_) = [seen for seen in scene.flower.turns() if seen.startswith(scene.task)]
    paths = ["/", "/workers", "/tasks", "/broker", "/metrics", f"/worker/{node[0]}", f"/task/{message}"]
    pages = dict(zip(paths, map(scene.flower.get, paths), strict=True))
    assert "redis://:**@" in pages["/broker"]
    assert scene.task in pages[f"/task/{message}"]
    shown = "".join([*api, *pages.values()])
    assert scene.found_in(shown) == []
    assert "key.txt" not in shown, "not even what the task is about"


def test_no_secret_in_what_workers_answer(scene: Scene) -> None:
    """What `celery inspect` and `celery report` print: made from settings that hold the broker's URL."""
    app = make_app(scene.settings)
    asked = app.control.inspect(timeout=ANSWER_S, limit=2)
    answers: dict[str, Any] = {name: getattr(asked, name)() for name in ("stats", "conf", "report", "active_queues")}
    assert all(len(answer) == 2 for answer in answers.values()), "worker and control must answer"
    assert "broker_url" in str(answers["conf"])
    assert scene.found_in(str(answers)) == []
    assert "broker_url" in app.bugreport()
    assert scene.found_in(app.bugreport()) == []


def test_no_secret_is_sent_to_the_server(scene: Scene) -> None:
    """Every command while the task ran: messages, events, answers, and all that was stored, also for a moment."""
    sent = "\n".join([scene.commands, *scene.bodies])
    for part in ("task-succeeded", scene.task, "[redacted:"):
        assert part in sent, "events, the task and its keys must have come that far"
    assert scene.found_in(sent) == []


def test_no_secret_in_the_servers_files(scene: Scene) -> None:
    """The append-only file holds all of the past; only the password and the configuration may name the password."""
    folder = scene.stack.data_dir / "server"
    allowed = {"password", "server.conf"}
    files = {path: text_of(path) for path in folder.rglob("*") if path.is_file() and path.name not in allowed}
    assert any(scene.task in text for text in files.values()), "the append-only file must be among them"
    assert {str(path): scene.found_in(text) for path, text in files.items() if scene.found_in(text)} == {}
    for path in folder.rglob("*"):
        if path.name in allowed:
            assert path.stat().st_mode & 0o077 == 0, f"{path} must be private"


def test_a_message_holds_ids_only(scene: Scene) -> None:
    """The bodies of the task's messages, as they went to the queue."""
    messages = [body[:2] for body in map(json.loads, scene.bodies) if isinstance(body, list)]
    assert [message for message in messages if scene.task in message[0]] == [
        [[scene.task, 0, 1], {}],
        [[scene.task, 1, 2], {}],
    ]
