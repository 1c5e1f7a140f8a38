"""`neuraphage dev` as a real process: tasks on directories nobody has seen go right through kills."""

from __future__ import annotations

import os
import random
import re
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from clikit import SCRIPT, Ran
from devscript import GO, HELD_COMMAND, LOG, SUMMING, TOTAL, VERY_SLOWLY
from devstack import LIMIT_S, DevStack, wait_for
from neuraphage.client_wiring import build_store
from neuraphage.model.task import Status

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
LETTERS = "abcdefghij klmnöß模型-_'$&"


@pytest.fixture(scope="module")
def kept_stack() -> Iterator[DevStack]:
    """One stack for all tests of this file."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        stack = DevStack(Path(folder))
        try:
            yield stack
        finally:
            stack.kill()


@pytest.fixture
def stack(kept_stack: DevStack) -> DevStack:
    """The stack, running."""
    kept_stack.start()
    return kept_stack


def random_directory(folder: Path, dice: random.Random) -> dict[str, int]:
    """Files with a number each, in folders; returns their numbers by path."""
    values = {}
    for number in range(dice.randint(2, 9)):
        parts = [
            "".join(dice.choices(LETTERS, k=dice.randint(1, 12))).strip() or "x" for _ in range(dice.randint(1, 3))
        ]
        path = Path(*[f"f{part}" for part in parts[:-1]], f"{number} {parts[-1]}.txt")
        lines = [f"line {dice.random()}" for _ in range(dice.randint(0, 5))]
        values[str(path)] = dice.randint(-1000, 1000)
        lines.insert(dice.randint(0, len(lines)), f"value={values[str(path)]}")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return values


def kill_owner(stack: DevStack, task_id: str) -> int:
    """Kill the worker that holds the task; returns its process id."""
    with stack.client() as client:
        owner = client.get(task_id).owner
        pid = next(row.pid for row in build_store(client.settings).registered() if row.process_id == owner)
    os.kill(pid, signal.SIGKILL)
    return pid


def attach_to_the_end(stack: DevStack, task_id: str, code: int) -> str:
    """Attach until the task rests; returns what was shown."""
    ran = stack.cli("attach", task_id)
    assert ran.code == code, ran.out + ran.err
    return ran.out


def values_now(folder: Path, names: list[str]) -> dict[str, int]:
    """The number in each file."""
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    return {name: int(text.partition("value=")[2].split()[0]) for name, text in texts.items()}


def check_files(folder: Path, before: dict[str, int]) -> None:
    """The sum is right, the first value was raised once, and the command ran from begin to end, once."""
    total = f"{sum(before.values())}\n"
    first = min(before)
    assert (folder / TOTAL).read_text(encoding="utf-8") == total
    assert (folder / "copy.txt").read_text(encoding="utf-8") == total
    assert values_now(folder, list(before)) == before | {first: before[first] + 1}
    assert (folder / LOG).read_text(encoding="utf-8").splitlines() == ["begin", "end"]


def test_a_task_on_real_input_goes_right_through_kills(stack: DevStack, tmp_path: Path) -> None:
    """Killed while a reply streams and while a command runs, asked before every change; all comes right, once."""
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    before = random_directory(tmp_path, random.Random(seed))
    submitted = stack.cli("submit", f"Add up the numbers {VERY_SLOWLY}.", "--dir", str(tmp_path))
    assert submitted.code == 0, submitted.err
    task_id = submitted.out.strip()
    viewer = subprocess.Popen([SCRIPT, "attach", task_id], env=stack.env, stdout=subprocess.PIPE, text=True)
    assert viewer.stdout is not None
    seen = ""
    while SUMMING[:16] not in seen:
        piece = viewer.stdout.read(1)
        assert piece, seen
        seen += piece
    kill_owner(stack, task_id)
    seen += viewer.communicate(timeout=LIMIT_S)[0]
    assert viewer.returncode == 3, seen
    assert "goes on with the reply that had begun" in seen
    assert "May write_file run?" in seen
    assert not (tmp_path / TOTAL).exists()
    assert stack.cli("answer", task_id, open_prompt(stack, task_id), "yes").code == 0
    assert "May edit run?" in attach_to_the_end(stack, task_id, 3)
    assert stack.cli("answer", task_id, open_prompt(stack, task_id), "yes").code == 0
    shown = attach_to_the_end(stack, task_id, 3)
    assert HELD_COMMAND in shown
    assert stack.cli("answer", task_id, open_prompt(stack, task_id), "yes").code == 0
    wait_for((tmp_path / LOG).exists, "the command")
    kill_owner(stack, task_id)
    with stack.client() as client:
        wait_for(
            lambda: "ToolAttached" in [event.kind for event in client.events(task_id)], "the next worker to attach"
        )
    (tmp_path / GO).touch()
    assert "attached to it" in attach_to_the_end(stack, task_id, 0)
    check_files(tmp_path, before)
    with stack.client() as client:
        counters = client.get(task_id).counters
    assert (counters.model_resends, counters.recoveries_total) == (0, 2)


def open_prompt(stack: DevStack, task_id: str) -> str:
    """The id of the only prompt that is open."""
    with stack.client() as client:
        (prompt,) = client.get(task_id).prompts
    return prompt.prompt_id


def test_a_refused_change_is_not_made(stack: DevStack, tmp_path: Path) -> None:
    """`no` is told to the model, which goes on without; `always` and `never` are remembered."""
    random_directory(tmp_path, random.Random(1))
    task_id = stack.cli("submit", "Add up.", "--dir", str(tmp_path)).out.strip()
    attach_to_the_end(stack, task_id, 3)
    assert stack.cli("answer", task_id, open_prompt(stack, task_id), "no").code == 0
    assert "May edit run?" in attach_to_the_end(stack, task_id, 3)
    assert not (tmp_path / TOTAL).exists()
    assert stack.cli("cancel", task_id).code == 0
    assert "cancelled" in attach_to_the_end(stack, task_id, 1)


@pytest.mark.parametrize(("option", "words"), [(("--max-turns", "1"), "turns"), (("--max-cost", "0.000001"), "$")])
def test_limits_stop_a_task_before_the_next_call(
    stack: DevStack, tmp_path: Path, option: tuple[str, str], words: str
) -> None:
    """One call was made; the limit fails the task before the second, and says so."""
    task_id = stack.cli("submit", "Add up.", "--dir", str(tmp_path), "--allow", "*", *option).out.strip()
    assert words in attach_to_the_end(stack, task_id, 1)
    with stack.client() as client:
        assert client.get(task_id).counters.model_calls == 1


def test_a_second_dev_on_the_same_folder_is_refused(stack: DevStack) -> None:
    """One line that names the process, and the first one is not harmed."""
    ran: Ran = stack.cli("dev", "--script", "devscript:add_up")
    assert (ran.code, ran.out) == (1, "")
    assert "choose another NEURAPHAGE_DATA_DIR" in ran.err
    assert ran.err.count("\n") == 1
    assert stack.cli("list").code == 0


def test_doctor_finds_nothing_wrong(stack: DevStack) -> None:
    """Everything it looks at is there and well: both queues have workers, and sweeps are done."""
    ran = stack.cli("doctor", "--json")
    found = {finding["check"]: finding for finding in ran.json["findings"]}
    assert ran.code == 0, ran.out
    assert {finding["level"] for finding in found.values()} == {"ok"}, ran.out
    assert "worker-2" in found["workers of np.run"]["found"]
    assert found["workers of np.control"]["found"].startswith("control")


def test_purge_leaves_a_running_stack_alone(stack: DevStack) -> None:
    """Whoever keeps it up is named."""
    ran = stack.cli("purge", "--yes")
    assert ran.code == 1
    assert "runs a stack there already" in ran.err
    assert stack.cli("list").code == 0


def test_the_stack_is_healthy(stack: DevStack) -> None:
    """Its workers can claim."""
    wait_for(lambda: stack.cli("health", "--ready").code == 0, "health")
    assert stack.cli("health", "--live").code == 0


@pytest.mark.parametrize("name", ["server", "worker-1", "control", "beat"])
def test_what_is_killed_is_started_again(stack: DevStack, name: str) -> None:
    """The supervisor brings it back, and the command line works afterwards."""
    times = stack.times_ready(name)
    psutil.Process(stack.pid(name)).kill()
    wait_for(lambda: stack.times_ready(name) > times, f"{name} to come back")
    end = r"exited: killed by SIGKILL; starts again in [\d.]+ s; .*log /\S+\.log"
    assert re.search(rf"^\d\d:\d\d:\d\d {name} +{end}", stack.output(), re.MULTILINE)
    wait_for(lambda: stack.cli("list").code == 0, "the state server")


def test_ctrl_c_keeps_the_data_and_the_next_dev_goes_on(stack: DevStack, tmp_path: Path) -> None:
    """Stopped in the middle of a command: exit 0, no process left, and the task ends right at the next start."""
    before = random_directory(tmp_path, random.Random(2))
    task_id = stack.cli("submit", "Add up.", "--dir", str(tmp_path), "--allow", "*").out.strip()
    wait_for((tmp_path / LOG).exists, "the command")
    with stack.client() as client:
        owner = client.get(task_id).owner
    pids = [stack.pid(name) for name in ("server", "worker-1", "worker-2", "control", "beat", "model")]
    assert stack.stop() == 0, stack.output()
    assert "stopped; the data is kept" in stack.output()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert "no stack runs; this is what the last one has left" in stack.cli("list").err
    stack.start()
    assert stack.cli("attach", task_id).code == 0
    check_files(tmp_path, before)
    with stack.client() as client:
        record = client.get(task_id)
    assert record.status is Status.COMPLETED
    assert record.owner != owner
