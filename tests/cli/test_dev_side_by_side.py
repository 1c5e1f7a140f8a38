"""Two `neuraphage dev` on two data folders at once: each has its own server and workers, and commands find theirs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from clikit import Ran, run_process
from devstack import DevStack, wait_for
from neuraphage.model.task import Status

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
PLAY = ("--script", "runscript:play")
NAMES = ("one", "two")
KINDS = ("server", "worker", "control", "beat")
Stacks = dict[str, DevStack]


@pytest.fixture(scope="module")
def stacks() -> Iterator[Stacks]:
    """Both, started at the same moment, so that both look for free ports at once."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        made = {name: DevStack(Path(folder) / name, PLAY) for name in NAMES}
        for name in NAMES:
            (Path(folder) / name).mkdir()
        try:
            each(made, DevStack.start)
            yield made
        finally:
            each(made, DevStack.kill)


def each(stacks: Stacks, act: Callable[[DevStack], None]) -> None:
    """With both at once."""
    with ThreadPoolExecutor(len(stacks)) as pool:
        list(pool.map(act, stacks.values()))


def command(stack: DevStack, *arguments: str) -> Ran:
    """Run a command that knows the stack by its data folder alone."""
    env = {name: value for name, value in stack.env.items() if name != "NEURAPHAGE_DATA_DIR"}
    ran = run_process(*arguments, "--data-dir", str(stack.data_dir), env=env)
    assert ran.code == 0, ran.out + ran.err
    return ran


def port_of(stack: DevStack) -> int:
    """Where its server listens, by what its commands connect to."""
    with stack.client() as client:
        found = re.search(r"127\.0\.0\.1:(\d+)", client.settings.broker_url.get_secret_value())
    assert found
    return int(found.group(1))


def test_processes_and_ports_are_its_own(stacks: Stacks) -> None:
    """Both are up at once: no port and no process is shared, and each server has the port that its folder tells."""
    pids = {name: {stack.pid(kind) for kind in KINDS} for name, stack in stacks.items()}
    assert all(len(found) == len(KINDS) and all(map(psutil.pid_exists, found)) for found in pids.values())
    assert not pids["one"] & pids["two"]
    ports = {name: port_of(stack) for name, stack in stacks.items()}
    assert ports["one"] != ports["two"]
    for name, stack in stacks.items():
        listening = {each.laddr.port for each in psutil.Process(stack.pid("server")).net_connections("tcp")}
        assert ports[name] in listening
        assert ports[NAMES[1 - NAMES.index(name)]] not in listening


def test_a_task_ends_where_it_was_submitted(stacks: Stacks, tmp_path: Path) -> None:
    """Submitted to both by their data folders: each is done by the workers of its own, and the other knows nothing."""
    tasks = {}
    for name, stack in stacks.items():
        (tmp_path / name).mkdir()
        sent = command(stack, "submit", "slow please", "--dir", str(tmp_path / name), "--allow", "*")
        tasks[name] = sent.out.strip()
    for name, stack in stacks.items():
        with stack.client() as client:
            wait_for(lambda: client.get(tasks[name]).status is Status.COMPLETED, f"the task of {name}")  # noqa: B023 - called at once
        assert (tmp_path / name / "slow.txt").read_text(encoding="utf-8") == "slow\n"
    for name, other in (NAMES, NAMES[::-1]):
        stack, log = stacks[name], (stacks[name].data_dir / "logs" / "worker.log").read_text(encoding="utf-8")
        assert tasks[name] in log
        assert tasks[other] not in log
        listed = [task["spec"]["task_id"] for task in command(stack, "list", "--json").json]
        assert tasks[name] in listed
        assert tasks[other] not in listed
        assert tasks[other] not in command(stack, "show", tasks[name]).out


def test_commands_look_at_their_own_folder(stacks: Stacks) -> None:
    """Health, places and notes are those of the folder that is named; nobody's workers count for the other."""
    for stack in stacks.values():
        known = {process["pid"] for process in command(stack, "health", "--json").json["processes"]}
        assert known == {stack.pid("worker"), stack.pid("control")}
        places = {place["name"]: place["path"] for place in command(stack, "where", "--json").json}
        assert places["data"] == str(stack.data_dir)


def test_one_ends_and_the_other_stays(stacks: Stacks) -> None:
    """Ctrl-C in one terminal touches nothing of the other's; the one that ended is told as not running."""
    ended, stays = (stacks[name] for name in NAMES)
    before = {kind: stays.pid(kind) for kind in KINDS}
    assert ended.stop() == 0
    gone = run_process("list", "--data-dir", str(ended.data_dir), env=stays.env)
    assert gone.code == 0
    assert "no stack runs; this is what the last one has left" in gone.err
    assert command(stays, "list").code == 0
    assert command(stays, "health", "--live").code == 0
    assert {kind: stays.pid(kind) for kind in KINDS} == before
    assert all(map(psutil.pid_exists, before.values()))
