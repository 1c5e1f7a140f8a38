"""`neuraphage dev` on real terminals of three widths: what it shows, and what Ctrl-C does once, twice and early."""

from __future__ import annotations

import base64
import json
import os
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import SecretStr

from devstack import DevStack, wait_for
from neuraphage.client import Client
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.stack_use import is_taken
from neuraphage.model.effect import MarkerName
from neuraphage.model.task import Status, TaskRecord
from neuraphage.settings import Settings
from patience import PATIENCE_S
from terminalkit import Terminal

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
PLAY = ("--script", "runscript:play")
UP = r"Ctrl-C\s+stops"
PROCESSES = ("server", "model", "worker", "control", "beat", "flower")


@pytest.fixture(scope="module")
def place() -> Iterator[DevStack]:
    """A data folder, its environment and its clients; the tests start the stack on a terminal."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        yield DevStack(Path(folder), PLAY)


@pytest.fixture
def terminal(place: DevStack, columns: int) -> Iterator[Terminal]:
    """A stack that starts."""
    seen = Terminal("dev", "--flower", *PLAY, env=place.env, columns=columns)
    try:
        yield seen
    finally:
        seen.close()


GO = "go"
"""The file that a model call under way waits for."""


def pids(seen: Terminal) -> dict[str, int]:
    """Process ids by name, from the lines of the start."""
    return {name: int(pid) for name, pid in re.findall(r"^  (\w+) +ready  pid (\d+)", "\n".join(seen.lines), re.M)}


def calling(place: DevStack, folder: Path) -> str:
    """Submit a task and wait until its model call is under way; returns its id."""
    with place.client() as client:  # a command of its own would end after the call, on a busy machine
        task_id = client.submit(f"held {folder / GO}", working_dir=str(folder), allow=("*",))
        wait_for(lambda: client.get(task_id).marker.name is MarkerName.REQUEST_SENT, "the model call")
    return task_id


def at_rest(place: DevStack, task_id: str) -> TaskRecord:
    """The task's record while no stack runs."""
    with EmbeddedServer(place.data_dir) as server:
        urls = {"state_url": server.address.state_url, "broker_url": server.address.broker_url}
        with Client(
            Settings(data_dir=place.data_dir, **{name: SecretStr(url) for name, url in urls.items()})
        ) as client:
            return client.get(task_id)


def ask_flower(url: str, login: str) -> Any:
    """An answer of Flower's API."""
    value = base64.b64encode(login.encode()).decode()
    request = urllib.request.Request(url, headers={"Authorization": f"Basic {value}"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize("columns", [200])
def test_what_is_shown_and_the_first_ctrl_c(place: DevStack, terminal: Terminal, tmp_path: Path) -> None:
    """One line a process; Flower sees workers and turns and keeps its login; Ctrl-C leaves a reply to the relay."""
    terminal.see(UP)
    running = pids(terminal)
    assert sorted(running) == sorted(PROCESSES)
    ended = [name for name, pid in running.items() if not psutil.pid_exists(pid)]
    assert not ended, f"{ended}: {terminal.text}\n{logs_of(place)}"
    assert all(os.getsid(pid) == pid for pid in running.values()), "the terminal's Ctrl-C must not reach them"
    url, login = flower_login(place)
    wait_for(lambda: any(ask_flower(f"{url}/api/workers?status=1", login).values()), "Flower to hear from a worker")
    task_id = calling(place, tmp_path)
    (tmp_path / GO).touch()
    wait_for(lambda: place.cli("show", task_id, "--json").json["status"] == "Completed", "the first task")
    check_flower(place, terminal, running)
    (tmp_path / GO).unlink()
    task_id = calling(place, tmp_path)
    terminal.interrupt()
    terminal.see("stopping after the step in hand")
    (tmp_path / GO).touch()
    assert terminal.ended() == 0
    assert "stopping after the step in hand; Ctrl-C again stops at once" in terminal.text
    assert terminal.text.endswith("stopped; the data is kept")
    assert terminal.too_wide() == []
    assert "^C" not in terminal.text
    assert not any(psutil.pid_exists(pid) for pid in running.values())
    record = at_rest(place, task_id)
    counters = record.counters
    assert (record.status, counters.model_resends, counters.recoveries_total) == (Status.RUNNING, 0, 0), "no crash"


def logs_of(place: DevStack) -> str:
    """All that the processes of the stack have logged."""
    files = sorted((place.data_dir / "logs").iterdir())
    return "\n".join(f"{file.name}\n{file.read_text(errors='replace', encoding='utf-8')}" for file in files)


def flower_login(place: DevStack) -> tuple[str, str]:
    """Flower's address, and `user:password`, from the file for the person."""
    lines = (place.data_dir / "flower" / "login.txt").read_text(encoding="utf-8").splitlines()
    url, user, password = [line.rpartition(": ")[2] for line in lines]
    return url, f"{user}:{password}"


def check_flower(place: DevStack, terminal: Terminal, running: dict[str, int]) -> None:
    """Its address is shown, its login is in a private file and nowhere else; it lists the worker and a turn."""
    file = place.data_dir / "flower" / "login.txt"
    assert file.stat().st_mode & 0o077 == 0
    url, login = flower_login(place)
    user, _, password = login.partition(":")
    assert f"{url} (login in {file})" in terminal.text
    with pytest.raises(urllib.error.HTTPError, match="401"):
        ask_flower(f"{url}/api/tasks", f"{user}:wrong")
    turns = wait_for(lambda: ask_flower(f"{url}/api/tasks?taskname=neuraphage.run_turn", login), "turns")
    assert {turn["worker"].split("@")[0] for turn in turns.values()} == {"worker-default"}
    logs = logs_of(place)
    arguments = " ".join(word for pid in running.values() for word in psutil.Process(pid).cmdline())
    assert password not in logs + arguments + terminal.raw
    connections = psutil.Process(running["flower"]).net_connections("inet")
    assert {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN} == {"127.0.0.1"}


@pytest.mark.parametrize("columns", [40])
def test_the_second_ctrl_c_waits_for_nothing(place: DevStack, terminal: Terminal, tmp_path: Path) -> None:
    """The call in hand is given up, to be made again; no process is left. No line is wider than a narrow terminal."""
    terminal.see(UP)
    running = pids(terminal)
    assert sorted(running) == sorted(PROCESSES)
    task_id = calling(place, tmp_path)
    terminal.interrupt()
    terminal.see(r"again\s+stops\s+at\s+once")
    terminal.interrupt()
    assert terminal.ended() == 130
    assert "stopped at once; the data is kept" in terminal.text
    assert terminal.too_wide() == []
    assert "^C" not in terminal.text
    assert not any(psutil.pid_exists(pid) for pid in running.values())
    assert at_rest(place, task_id).marker.name is MarkerName.REQUEST_SENT


@pytest.mark.parametrize("columns", [80])
def test_ctrl_c_while_it_starts(place: DevStack, terminal: Terminal) -> None:
    """Nothing more is started, what has started ends, and the next start finds the data folder free."""
    terminal.see(r"server +ready")
    terminal.interrupt()
    assert terminal.ended() == 0
    assert terminal.text.endswith("stopped; the data is kept")
    assert "beat" not in pids(terminal)
    assert terminal.too_wide() == []
    assert not any(psutil.pid_exists(pid) for pid in pids(terminal).values())
    assert not is_taken(place.data_dir)
