"""No process of the same user reads the key or a password out of a process of ours, and no command is given one.

A stack as `neuraphage dev` runs it, with Flower, and beside it a worker with forked children. It runs without the
rights of root, so that whoever reads is a plain process of its user.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from clikit import SCRIPT
from devstack import DevStack, wait_for
from neuraphage.client import Client
from neuraphage.relay_wiring import relays
from neuraphage.settings import Settings
from neuraphage.testing.scripted_api import ScriptedServer
from patience import PATIENCE_S
from secretreader import read, without_rights
from stackkit.scripts import command, plan, task_prompt, turn

pytestmark = [
    pytest.mark.real_redis,
    pytest.mark.real_workers,
    pytest.mark.skipif(sys.platform != "linux", reason="/proc and prctl are Linux's"),
]
KEY = f"own-{secrets.token_hex(12)}-key"
SEARCH = (
    "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' > all; grep -c . all > read;"
    " grep -c -e {} -e {} all > found; rm all"
)
"""A command that looks for what it must not find, in all processes that it may read."""


@pytest.fixture(scope="module")
def stack() -> Iterator[DevStack]:
    """One that has done a task, whose model takes this key alone."""
    with contextlib.ExitStack() as ended:
        folder = Path(ended.enter_context(tempfile.TemporaryDirectory(prefix="np-", ignore_cleanup_errors=True)))
        model = ended.enter_context(ScriptedServer({"plan": plan}, accepted_keys=[KEY]))
        started = DevStack(folder, ("--workers", "1", "--flower"), prefix=without_rights())
        started.env |= {"ANTHROPIC_API_KEY": KEY, "NEURAPHAGE_ANTHROPIC_BASE_URL": model.url}
        started.env["NEURAPHAGE_PRICES"] = "m 1 2"
        ended.callback(started.kill)
        started.start()
        yield started


@pytest.fixture(scope="module")
def settings(stack: DevStack) -> Settings:
    """Those that reach the stack."""
    with stack.client() as client:
        return client.settings


def password(settings: Settings) -> str:
    """The servers' password."""
    return settings.state_url.get_secret_value().partition("@")[0].rpartition(":")[2]


def environ_of(pid: int) -> str:
    """The environment that a process was started with, as root reads it, or who it belongs to."""
    return Path(f"/proc/{pid}/environ").read_bytes().decode()


def processes(stack: DevStack) -> dict[str, int]:
    """Every process of the stack but the server, by what it is."""
    named = {name: stack.pid(name) for name in ("worker", "control", "beat", "flower")}
    beside = {f"beside {name}": child.pid for name in ("worker", "control") for child in children(named[name])}
    return {**named, **beside, "supervisor": psutil.Process(named["worker"]).ppid()}


def children(pid: int) -> list[psutil.Process]:
    """Processes that one has started, and those of them."""
    return psutil.Process(pid).children(recursive=True)


def test_a_command_finds_no_secret_in_any_process(stack: DevStack, settings: Settings, tmp_path: Path) -> None:
    """And the worker calls the model all the same, whose key nobody else knows. Halves are looked for: a
    whole one would be taken out of the command."""
    halves = KEY[:16], password(settings)[: len(password(settings)) // 2]
    prompt = task_prompt(turn("I look.", command(SEARCH.format(*halves))), turn("Done."))
    with Client(settings) as client:
        task = client.submit(prompt, working_dir=str(tmp_path), allow=["*"], model="m")
        record = client.wait(task, timeout_s=PATIENCE_S)
    assert record.status.value == "Completed", record.detail
    assert (tmp_path / "found").read_text(encoding="utf-8") == "0\n"
    assert int((tmp_path / "read").read_text(encoding="utf-8")) > 0, "it can read none at all"


def test_none_of_them_can_be_read(stack: DevStack, settings: Settings) -> None:
    """Neither its environment nor its memory, by a process of the same user; the server has none of it in both."""
    found = processes(stack)
    assert len(found) >= 6, found  # the worker has one beside it since its first task
    for name, pid in found.items():
        assert read(pid, "environ") is None, name
        assert read(pid, "mem") is None, name
    assert KEY.encode() not in (read(stack.pid("server"), "environ") or b"")
    assert password(settings).encode() not in (read(stack.pid("server"), "environ") or b"")


def test_nor_a_relay_that_runs_as_a_service(stack: DevStack, settings: Settings) -> None:
    """Requests go through it with their keys."""
    relay = subprocess.Popen([*without_rights(), SCRIPT, "relay"], env=stack.env, stderr=subprocess.DEVNULL)
    try:
        (service,) = wait_for(lambda: [one for one in relays(settings) if one["is_service"]], "the service")
        assert [read(int(service["pid"]), file) for file in ("environ", "mem")] == [None, None]
    finally:
        relay.terminate()
        relay.wait(PATIENCE_S)


def test_they_have_taken_the_secrets_out_of_their_environment(stack: DevStack, settings: Settings) -> None:
    """Even where root looks: what the kernel keeps of the start is overwritten."""
    if os.geteuid() != 0:
        pytest.skip("only root may look")
    for name, pid in processes(stack).items():
        assert KEY not in environ_of(pid), name
        assert password(settings) not in environ_of(pid), name


def test_beat_and_flower_are_given_the_brokers_address_alone(stack: DevStack) -> None:
    """No key, and no address of the state server."""
    if os.geteuid() != 0:
        pytest.skip("only root may look")
    for name in ("beat", "flower"):
        variables = {line.partition("=")[0] for line in environ_of(stack.pid(name)).split("\0")}
        assert "NEURAPHAGE_BROKER_URL" in variables, name
        assert variables.isdisjoint({"ANTHROPIC_API_KEY", "NEURAPHAGE_STATE_URL"}), name


@contextlib.contextmanager
def celery_worker(stack: DevStack, settings: Settings, folder: Path, pool: str) -> Iterator[tuple[int, Path]]:
    """A worker beside the stack, as an operator starts it, with its process id and its log, once it is ready."""
    env = stack.env | {
        "NEURAPHAGE_STATE_URL": settings.state_url.get_secret_value(),
        "NEURAPHAGE_BROKER_URL": settings.broker_url.get_secret_value(),
    }
    celery = str(Path(sys.executable).with_name("celery"))
    options = ("-P", pool, "-c", "1", "-Q", "np.run", "-l", "INFO", "-n", f"{pool}@%h")
    argv = without_rights(celery, "-A", "workers.app", "worker", *options)
    log = folder / "log"
    with (
        log.open("wb") as out,
        subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder) as worker,
    ):
        try:
            wait_for(lambda: times_ready(log) == 1, "the worker")
            yield worker.pid, log
        finally:
            worker.terminate()
            worker.wait(PATIENCE_S)


def times_ready(log: Path) -> int:
    """How often a worker became ready."""
    return log.read_text(encoding="utf-8").count(" ready.")


def unhidden(pids: list[int]) -> list[int]:
    """Those that a process of the same user can read."""
    return [pid for pid in pids if read(pid, "environ") is not None or read(pid, "mem") is not None]


def test_a_forked_worker_hides_too(stack: DevStack, settings: Settings, tmp_path: Path) -> None:
    """The parent, and each child, that was forked after it."""
    with celery_worker(stack, settings, tmp_path, "prefork") as (pid, _):
        pids = [pid, *(child.pid for child in children(pid))]
        assert len(pids) >= 2
        assert unhidden(pids) == []


def test_a_worker_that_starts_anew_has_its_secrets(stack: DevStack, settings: Settings, tmp_path: Path) -> None:
    """On SIGHUP Celery puts the same program in the worker's place: it is given them again, and hides again."""
    with celery_worker(stack, settings, tmp_path, "threads") as (pid, log):
        os.kill(pid, signal.SIGHUP)
        wait_for(lambda: times_ready(log) == 2, "the worker to be ready again")
        assert unhidden([pid]) == []
