"""`neuraphage purge` after `dev` was killed with -9: every process of the folder is waited for, and no more removed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from clikit import Ran
from devstack import DevStack, wait_for
from neuraphage.dev.server_probe import find_process
from neuraphage.ports import SpoolCommand
from neuraphage.settings import Settings
from neuraphage.spool.command_spool import CommandSpool
from neuraphage.stack_note import settings_of_running_stack

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
STARTED = ("-m", "celery", "-A", "neuraphage.celery_app")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, with things of somebody else beside the data folder."""
    with tempfile.TemporaryDirectory(prefix="np-") as made:
        path = Path(made)
        (path / "work").mkdir()
        (path / "work" / "notes.txt").write_text("mine", encoding="utf-8")
        (path / "home").mkdir()
        yield path


@pytest.fixture
def stack(folder: Path) -> Iterator[DevStack]:
    """A stack; whatever it leaves is ended by its process id."""
    stack = DevStack(folder)
    stack.env["HOME"] = str(folder / "home")
    server: psutil.Process | None = None
    try:
        stack.start()
        server = psutil.Process(stack.pid("server"))
        yield stack
    finally:
        stack.kill()
        if server is not None and server.is_running():
            server.kill()


@pytest.fixture
def started(stack: DevStack) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes of the folder that no stack started and that therefore outlive it."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def others(folder: Path) -> dict[str, bytes]:
    """All files but those of the data folder and of the tests' own records of it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path): path.read_bytes()
        for path in files
        if not path.is_relative_to(folder / "data") and path.name != "dev.log"
    }


def kill_dev(stack: DevStack) -> None:
    """kill -9, and wait until the kernel has ended what is tied to it."""
    children = psutil.Process(stack.pid("worker-1")).parent()
    assert children is not None
    tied = [each for each in children.children(recursive=True) if each.pid != stack.pid("server")]
    stack.stop(signal.SIGKILL)
    psutil.wait_procs(tied, 30)


def refused(ran: Ran, *pids: int) -> None:
    """Refused in one line that names every process."""
    assert ran.code == 1, ran.out + ran.err
    assert ran.err.count("\n") == 1, ran.err
    assert "in use" in ran.err
    assert set(map(str, pids)) <= set(re.findall(r"\d+", ran.err)), (pids, ran.err)


def purged(stack: DevStack, folder: Path, before: dict[str, bytes]) -> None:
    """The folder is gone, and only it."""
    ran = stack.cli("purge", "--yes")
    assert ran.code == 0, ran.err
    assert not stack.data_dir.exists()
    assert others(folder) == before


def end(process: psutil.Process) -> None:
    process.kill()
    psutil.wait_procs([process], 30)


def test_the_server_that_it_left(stack: DevStack, folder: Path) -> None:
    """The server outlives its launcher, and is named until it is gone; the workers have ended with their parent.

    Then nothing uses the folder, whatever its files say of processes that were.
    """
    before, server = others(folder), psutil.Process(stack.pid("server"))
    kill_dev(stack)
    assert find_process(stack.data_dir / "server" / "server.conf") == server
    refused(stack.cli("purge", "--yes"), server.pid)
    assert (stack.data_dir / "server" / "password").exists()
    end(server)
    assert (stack.data_dir / "stack.json").exists()
    purged(stack, folder, before)


def test_workers_that_it_left(stack: DevStack, folder: Path, started: list[subprocess.Popen[bytes]]) -> None:
    """Where the kernel ties nothing to its parent (macOS), workers and beat live on, also frozen; all are named."""
    before, server = others(folder), psutil.Process(stack.pid("server"))
    settings = settings_of_running_stack(Settings(data_dir=stack.data_dir))
    env = stack.env | {
        "NEURAPHAGE_STATE_URL": settings.state_url.get_secret_value(),
        "NEURAPHAGE_BROKER_URL": settings.broker_url.get_secret_value(),
        "ANTHROPIC_API_KEY": "none",
    }
    worker, beat = ("worker", "-P", "threads", "-c", "1", "-n", "left@%h"), ("beat", "-s", str(folder / "data/beat/s"))
    for arguments in (worker, beat):
        argv = [sys.executable, *STARTED, *arguments]
        started.append(subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    pids = [process.pid for process in started]
    wait_for(lambda: '"name": "left@' in stack.cli("health", "--json").out, "the worker to beat")
    kill_dev(stack)
    refused(stack.cli("purge", "--yes"), server.pid, *pids)
    os.kill(pids[0], signal.SIGSTOP)
    end(server)
    refused(stack.cli("purge", "--yes"), *pids)
    started[0].kill()
    started[0].wait()
    refused(stack.cli("purge", "--yes"), pids[1])
    started[1].kill()
    started[1].wait()
    purged(stack, folder, before)


def test_a_command_that_it_left(stack: DevStack, folder: Path) -> None:
    """A spooled command outlives all of them; its guardians are named, and its end is waited for."""
    before, server = others(folder), psutil.Process(stack.pid("server"))
    spool = CommandSpool(stack.data_dir / "spool" / "default", 1_000_000)
    waiting = ("/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")
    spool.start(SpoolCommand("ab" * 8, waiting, str(folder / "home"), 600.0, {}, "task-1"))
    try:
        kill_dev(stack)
        end(server)
        ran = stack.cli("purge", "--yes")
        refused(ran)
        assert "a command of task-1 runs" in ran.err
        named = [psutil.Process(int(pid)) for pid in re.findall(r"pid (\d+)", ran.err)]
        assert any("go" in " ".join(child.cmdline()) for guardian in named for child in guardian.children())
    finally:
        (folder / "home" / "go").touch()
    psutil.wait_procs(named, 30)
    purged(stack, folder, before | {str(folder / "home" / "go"): b""})
