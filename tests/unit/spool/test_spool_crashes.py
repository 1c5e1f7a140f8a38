"""Every point at which the starter or the runner may die leads to a defined state, and to one run at most."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import neuraphage.spool
from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool

DONE, RUNNING, SEALED, ABSENT, LOST = (
    DetachedState.DONE,
    DetachedState.RUNNING,
    DetachedState.SEALED,
    DetachedState.ABSENT,
    DetachedState.LOST,
)
ROOM = Path(neuraphage.spool.__file__).parent


def runs(tmp_path):
    """How often the command of the test ran."""
    return (tmp_path / "ran").read_text(encoding="utf-8").count("x") if (tmp_path / "ran").exists() else 0


def test_the_command_outlives_its_worker(spool, order, calm, forked, eventually, tmp_path):
    """Killing the worker's whole process group leaves the command alone; another process attaches to it."""
    command = order("until [ -e go ]; do sleep 0.01; done; echo survived")
    worker = forked(lambda: spool.start(command))
    eventually(lambda: spool.look(command.effect_id, 10).state is RUNNING)
    os.killpg(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
    assert spool.look(command.effect_id, 10).state is RUNNING
    code = (
        "import sys; from pathlib import Path; from neuraphage.spool import CommandSpool\n"
        "class Calm:\n  check = lambda self: None\n"
        "s = CommandSpool(Path(sys.argv[1]), 1000); print(s.look(sys.argv[2], 9).state); sys.stdout.flush()\n"
        "Path(sys.argv[3]).touch(); print(s.wait(sys.argv[2], 100, Calm()).output)"
    )
    attached = subprocess.run(
        [sys.executable, "-c", code, str(spool._root), command.effect_id, str(tmp_path / "go")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert attached.stdout.split() == ["running", "survived"]


def die_after(method):
    """A spool whose starter dies right after one of its steps."""

    class Dying(CommandSpool):
        pass

    def step(self, *args):
        getattr(CommandSpool, method)(self, *args)
        os._exit(9)

    setattr(Dying, method, step)
    return Dying


@pytest.mark.parametrize("step", ["_make", "_write_command"])
@pytest.mark.parametrize("settle", ["start", "seal"])
def test_starter_dies_before_the_spawn(spool, order, calm, forked, tmp_path, step, settle):
    """Nothing has run then; a second start runs it once, a seal forbids it."""
    command = order("echo x >> ran")
    dying = die_after(step)(spool._root, 1000)
    assert os.waitstatus_to_exitcode(os.waitpid(forked(lambda: dying.start(command)), 0)[1]) == 9
    assert (spool._root / command.effect_id).is_dir()
    assert spool.look(command.effect_id, 10).state is ABSENT
    if settle == "seal":
        assert (spool.seal(command.effect_id), spool.start(command), runs(tmp_path)) == (SEALED, SEALED, 0)
    else:
        assert spool.start(command) is RUNNING
        assert spool.wait(command.effect_id, 10, calm).state is DONE
        assert runs(tmp_path) == 1


def test_starter_dies_right_after_the_spawn(spool, order, calm, forked, eventually, monkeypatch, tmp_path):
    """The runner does not need its starter any more: the command runs once."""
    command = order("echo x >> ran")
    monkeypatch.setattr("neuraphage.spool.launch._read_answer", lambda *args: os._exit(9))
    os.waitpid(forked(lambda: spool.start(command)), 0)
    monkeypatch.undo()
    eventually(lambda: spool.look(command.effect_id, 10).state is DONE)
    assert spool.start(command) is DONE
    assert runs(tmp_path) == 1


CRASHES = {
    # the point: (a statement that makes the runner die there, the state it leaves, how often the command ran)
    "before the lock": ("records.lock_alive = die", ABSENT, {0}),
    "after the lock": ("records.read_decision = die", ABSENT, {0}),
    "before the fork of the runner": ("os.fork = die", ABSENT, {0}),
    "before the space for the record": ("records.ExitRecord = die", ABSENT, {0}),
    "in the middle of the decision": ("os.link = die", ABSENT, {0}),
    "before the decision": ("runner.decide_to_start = die", ABSENT, {0}),
    "after the decision": ("runner.decide_to_start = then_die(runner.decide_to_start)", LOST, {0}),
    "after the go": ("runner.answer = die", LOST, {0, 1}),
    "while the command runs": ("runner.supervise = die", LOST, {0, 1}),
    "after the command": ("runner.supervise = then_die(runner.supervise)", LOST, {1}),
    "before the record": ("records.ExitRecord.write = die", LOST, {1}),
    "before the record has its name": ("os.rename = die", LOST, {1}),
}


def dying_runner(folder, statement):
    """Write a runner that dies by SIGKILL at the point of the statement."""
    path = folder / "dying_runner.py"
    path.write_text(
        "import os, signal, sys\n"
        f"sys.path.insert(0, {str(ROOM)!r})\n"
        "import runner, processes, records\n"
        "def die(*args, **kwargs):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "def then_die(step):\n    return lambda *args, **kwargs: (step(*args, **kwargs), die())\n"
        f"{statement}\n"
        "runner.main()\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("point", CRASHES)
def test_runner_dies(spool, order, calm, eventually, tmp_path, point):
    """The state left behind is defined, and a second start runs the command only if it never began."""
    statement, state, ran = CRASHES[point]
    dying = CommandSpool(spool._root, 1_000, dying_runner(tmp_path, statement))
    command = order("echo x >> ran")
    if state is ABSENT:
        with pytest.raises(SpoolError, match="failed before it started anything: it was killed"):
            dying.start(command)
    else:
        assert dying.start(command) in {RUNNING, LOST}
        eventually(lambda: spool.look(command.effect_id, 10).state is not RUNNING)
    assert spool.look(command.effect_id, 10).state is state
    assert runs(tmp_path) in ran
    before = runs(tmp_path)
    if state is ABSENT:
        assert spool.start(command) is RUNNING
        assert spool.wait(command.effect_id, 10, calm).state is DONE
        assert runs(tmp_path) == 1
    else:
        assert spool.start(command) is LOST
        assert spool.seal(command.effect_id) is LOST
        assert runs(tmp_path) == before


def test_runner_killed_takes_the_command_along(spool, order, token, living, guardians, eventually):
    """No part of the command outlives a killed runner, not even what left its group; the outcome is unknown."""
    command = order(f"setsid sleep {token} & sleep {token} & sleep {token}")
    spool.start(command)
    eventually(lambda: len(living()) == 3)
    os.kill(guardians(command.effect_id)[0], signal.SIGKILL)
    eventually(lambda: spool.look(command.effect_id, 10).state is not RUNNING)
    assert living() == []
    assert spool.look(command.effect_id, 10).state is LOST
    assert spool.start(command) is LOST


def test_keeper_killed_changes_nothing(spool, order, calm, guardians, tmp_path):
    """The runner goes on without its keeper's group, still holds the lock and records the end."""
    command = order("until [ -e go ]; do sleep 0.01; done; exit 4")
    spool.start(command)
    os.killpg(guardians(command.effect_id)[1], signal.SIGKILL)
    assert spool.look(command.effect_id, 10).state is RUNNING
    (tmp_path / "go").touch()
    assert spool.wait(command.effect_id, 10, calm).exit_code == 4


def test_both_killed_at_once(spool, order, token, living, guardians, eventually):
    """When both guardians die in one instant the kernel still kills the command itself."""
    command = order("", argv=("/bin/sleep", token))
    spool.start(command)
    eventually(lambda: len(living()) == 1)
    runner, keeper = guardians(command.effect_id)
    os.kill(keeper, signal.SIGSTOP)  # so that it can do nothing in between
    os.kill(runner, signal.SIGKILL)
    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: spool.look(command.effect_id, 10).state is LOST)
    eventually(lambda: living() == [])


def test_a_shutdown_signal_leaves_the_outcome_recorded(spool, order, calm, guardians, tmp_path):
    """A runner that is asked to stop goes on, so that its command's end is known."""
    command = order("until [ -e go ]; do sleep 0.01; done")
    spool.start(command)
    for pid in guardians(command.effect_id):
        for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(pid, signum)
    assert spool.look(command.effect_id, 10).state is RUNNING
    (tmp_path / "go").touch()
    assert spool.wait(command.effect_id, 10, calm).exit_code == 0


def test_an_entry_that_is_deleted_before_the_runner_first_looks(spool, order, token, living, eventually, tmp_path):
    """A runner that is slow after the start of its command takes a deleted entry for one that has a name."""
    wait = f"while os.path.exists({str(tmp_path / 'held')!r}): pass"
    held = f"def late(*args, step=runner.supervise):\n    {wait}\n    return step(*args)\nrunner.supervise = late"
    (tmp_path / "held").touch()
    command = order(f"sleep {token}")
    CommandSpool(spool._root, 1_000, dying_runner(tmp_path, held)).start(command)
    eventually(lambda: len(living()) == 1)
    shutil.rmtree(spool._root / command.effect_id)
    (tmp_path / "held").unlink()
    eventually(lambda: living() == [])


def test_power_cut(spool, order, tmp_path):
    """Started, no exit record and no lock, as a power cut leaves it: unknown, and never run again."""
    command = order("echo x >> ran")
    entry = spool._root / command.effect_id
    entry.mkdir()
    (entry / "decision").write_text("started", encoding="utf-8")
    (entry / "alive").touch()
    assert spool.look(command.effect_id, 10).state is LOST
    assert spool.start(command) is LOST
    assert spool.cancel(command.effect_id) is LOST
    assert runs(tmp_path) == 0


def test_the_runner_loads_only_the_standard_library(spool, order, calm, tmp_path):
    """The program stays small: nothing of the library, and none of the heavy modules, is in it."""
    path = dying_runner(tmp_path, "runner.keep = lambda pid, *_: (os.waitpid(pid, 0), report())")
    heavy = {"neuraphage", "pydantic", "json", "re", "subprocess", "pathlib", "typing", "contextlib", "logging"}
    report = (
        f"def report():\n    open({str(tmp_path / 'loaded')!r}, 'w').write(' '.join({heavy!r} & set(sys.modules)))\n"
    )
    path.write_text(path.read_text(encoding="utf-8").replace("runner.keep", report + "runner.keep"), encoding="utf-8")
    command = order("true")
    CommandSpool(spool._root, 1_000, path).start(command)
    spool.cancel(command.effect_id)
    assert (tmp_path / "loaded").read_text(encoding="utf-8") == ""
