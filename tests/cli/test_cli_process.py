"""The installed command as a real process: pipes, terminals, broken arguments, interrupts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from importlib.metadata import entry_points
from pathlib import Path

import psutil
import pytest

from clikit import PROCESS_LIMIT_S, SCRIPT, Bench, run_on_terminal, run_process
from neuraphage.cli.entry import main
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.task import Status
from neuraphage.ports import FinishTo

OF_A_TASK = ("show", "why", "events", "checkpoint")
NAME = "A task with a name of more than eighty characters, so that a terminal of eighty has to cut it somewhere"


def test_np_and_neuraphage_are_one_command() -> None:
    """Both names are installed and call the same function."""
    names = {
        point.name: point.value
        for point in entry_points(group="console_scripts")
        if point.value.startswith("neuraphage.cli")
    }
    assert names == {"np": "neuraphage.cli.entry:main", "neuraphage": "neuraphage.cli.entry:main"}
    for name in names:
        ended = subprocess.run([Path(SCRIPT).with_name(name), "--version"], capture_output=True, check=True, text=True)
        assert ended.stdout.startswith("neuraphage ")
    assert callable(main)


def test_an_argument_that_is_no_text() -> None:
    """Bytes that are not UTF-8 are refused in one line, and not shown raw."""
    ran = run_process("show", b"\xff\xfe")
    assert (ran.code, ran.out) == (2, "")
    assert "argument 2 is not UTF-8" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.real_redis
def test_a_reader_that_goes_away(bench: Bench) -> None:
    """`neuraphage list | head -1` ends without a word about it."""
    for number in range(200):
        bench.kit.create(prompt=f"task {number}")
    ours, theirs = os.pipe()
    os.close(ours)  # as head does once it has its line
    ended = subprocess.run(
        [SCRIPT, "list", "--limit", "1000"], stdout=theirs, stderr=subprocess.PIPE, timeout=PROCESS_LIMIT_S, check=False
    )
    os.close(theirs)
    assert ended.stderr == b""
    assert ended.returncode == 141


@pytest.mark.real_redis
def test_eighty_columns(bench: Bench) -> None:
    """On a terminal of 80 columns every task has one line, with its whole id, and nothing runs over."""
    ids = [bench.client.submit("x", name=NAME) for _ in range(3)]
    lease = bench.kit.claim(ids[0])
    bench.kit.finish(lease, FinishTo.COMPLETED, summary="Done.")
    written = run_on_terminal("list", env=os.environ | {"TZ": "UTC"})
    assert "\x1b[1m" in written
    head, *lines = re.sub(r"\x1b\[[0-9;]*m", "", written).rstrip().splitlines()
    assert head.split() == ["task", "status", "turns", "cost", "created", "+0000", "name"]
    assert {line.split()[0] for line in lines} == {one.rpartition("-")[2] for one in ids}
    assert all(len(line) <= 80 for line in lines)
    assert all(line.rstrip().endswith("…") for line in lines)
    assert sum(Status.COMPLETED.value in line for line in lines) == 1


@pytest.mark.real_redis
@pytest.mark.parametrize("command", ["list", *OF_A_TASK, "doctor", "where", "config show", "health", "run --help"])
def test_forty_columns(bench: Bench, command: str) -> None:
    """On a narrow terminal nothing is cut and no word is torn that has room: ids, names, values and their origins."""
    task_id = bench.client.submit("x", name=NAME)
    of_whom = [task_id] if command in OF_A_TASK else []
    written = run_on_terminal(*command.split(), *of_whom, env=os.environ, columns=40)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", written).splitlines()
    assert [line for line in lines if len(line) > 40] == []
    assert "…" not in written
    text = " ".join(" ".join(lines).split())
    whole = {
        "list": (task_id.rpartition("-")[2], NAME),
        "show": (NAME, "at most 50"),
        "why": ("no sweep yet",),
        "events": (f"created: {NAME}",),
        "checkpoint": ("task_created",),
        "doctor": ("start beat (celery -A neuraphage.celery_app beat)",),
        "where": ("user settings",),
        "config show": ("conversation_retention_s", "environment NEURAPHAGE_STATE_URL"),
        "health": ("`neuraphage dev`",),
        "run --help": ("Directory that the tools work in; the present one if not given.",),
    }
    assert [part for part in whole[command] if part not in text] == []


HINTS = {
    "list": "neuraphage answer",
    "list --limit 1": "there are more: --page 2",
    "list --tag nosuch": "no tasks fit",
    "show TASK": "neuraphage answer",
    "events TASK --after 9999999999999-0": "wait for it with --follow",
    "config keys": "in the environment: ",
}
"""Commands, and what they say besides their answer."""
SILENT = ("tools list", "tools show edit", "config show", "checkpoint TASK", "version", "env")


@pytest.mark.real_redis
@pytest.mark.parametrize("command", [*HINTS, *SILENT])
def test_a_pipe_has_the_answer_alone(bench: Bench, command: str) -> None:
    """What can be done next is on standard error then; a terminal has it below the answer."""
    ask = Prompt(prompt_id="p1", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS)
    waiting = bench.kit.waiting(ask)
    bench.kit.waiting(ask)
    words = [waiting if word == "TASK" else word for word in command.split()]
    ran = run_process(*words)
    assert ran.code == 0, ran.err
    if command in SILENT:
        assert (ran.out != "", ran.err) == (True, "")
        return
    hint = HINTS[command]
    assert (hint in ran.out, hint in ran.err) == (False, True)
    assert hint in " ".join(run_on_terminal(*words, env=os.environ, columns=200).split())


@pytest.mark.real_redis
def test_no_colour_when_it_is_not_wanted(bench: Bench) -> None:
    """NO_COLOR: a terminal gets no colour. A pipe gets no control code at all."""
    failed = bench.kit.put(Status.FAILED)
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    assert coloured.search(run_on_terminal("attach", failed, env=os.environ))
    assert not coloured.search(run_on_terminal("attach", failed, env=os.environ | {"NO_COLOR": "1"}))
    assert "\x1b" not in run_process("attach", failed).out


@pytest.mark.real_redis
def test_an_encoding_that_lacks_characters(bench: Bench) -> None:
    """A terminal that knows only ASCII gets escapes instead of an error."""
    bench.client.submit("x", name="naïve 模型")
    ran = run_process("list", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert ran.code == 0
    assert "na\\xefve" in ran.out


@pytest.mark.real_redis
def test_ctrl_c_detaches(bench: Bench) -> None:
    """The task goes on; the viewer says so and ends with 130."""
    task_id, _ = bench.kit.running()
    process = subprocess.Popen([SCRIPT, "attach", task_id], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "created" in process.stdout.readline()  # now it follows
    psutil.Process(process.pid).send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PROCESS_LIMIT_S)
    assert process.returncode == 130
    assert "the task goes on" in out
    assert err == ""
    assert bench.client.get(task_id).status is Status.RUNNING


@pytest.mark.real_redis
def test_a_task_that_no_worker_takes(bench: Bench) -> None:
    """Who watches it is told, once, how a worker is started; a program that reads JSON is not."""
    task_id = bench.kit.create()
    calls = (["attach", task_id], ["run", "x"], ["attach", task_id, "--json"])
    watching = [subprocess.Popen([SCRIPT, *call], stdout=subprocess.PIPE, text=True) for call in calls]
    for process in watching[:2]:
        assert process.stdout is not None
        assert any("no worker has taken the task" in line for line in process.stdout)
        assert "start one with `neuraphage dev`" in process.stdout.readline()
    for process in watching:
        process.send_signal(signal.SIGINT)
    left = [process.communicate(timeout=PROCESS_LIMIT_S)[0] for process in watching]
    assert not any("no worker" in text for text in left)
    assert [process.returncode for process in watching] == [130, 130, 130]
