"""The supervisor with real processes: order, restarts, stopping, and its own death."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from neuraphage.dev.process import MAX_LOG_BYTES, rotate
from neuraphage.dev.process_spec import ProcessChange, ProcessSpec, ProcessState, exit_words, restart_delay_s
from neuraphage.dev.server import LOADING_TIMEOUT_S, EmbeddedServer
from neuraphage.dev.stack import server_spec
from neuraphage.dev.stop_request import StopRequest
from neuraphage.dev.supervisor import Supervisor
from neuraphage.errors import StackError

Until = Callable[..., None]
ENV = {"PATH": os.defpath}
SLEEP = ("/bin/sleep", "600")
STUBBORN = ("/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 600 & wait $!; done")


class Changes:
    """Remembers every change."""

    def __init__(self) -> None:
        self.seen: list[ProcessChange] = []

    def __call__(self, change: ProcessChange) -> None:
        self.seen.append(change)

    def states(self, name: str) -> list[str]:
        return [change.state.value for change in self.seen if change.name == name]

    def order(self, state: ProcessState) -> list[str]:
        return [change.name for change in self.seen if change.state is state]


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_start_and_stop_in_order(tmp_path: Path) -> None:
    """A foundation is ready before the others start and stops after they have stopped."""
    changes = Changes()
    specs = [
        ProcessSpec("base", ("/bin/sh", "-c", "echo is-up; exec sleep 600"), ENV, ready_text="is-up", foundation=True),
        ProcessSpec("one", SLEEP, ENV),
        ProcessSpec("two", SLEEP, ENV),
    ]
    with Supervisor(specs, tmp_path, on_change=changes) as supervisor:
        pids = [supervisor.pid(name) for name in ("base", "one", "two")]
        assert None not in pids
        assert supervisor.state("one") is ProcessState.READY
    seen = [(change.name, change.state) for change in changes.seen]
    assert seen[:2] == [("base", ProcessState.STARTING), ("base", ProcessState.READY)]
    assert changes.order(ProcessState.STOPPED)[-1] == "base"
    assert all(gone(pid) for pid in pids if pid is not None)
    assert supervisor.pid("base") is None
    supervisor.stop()  # safe to repeat


def test_each_process_leads_its_own_session(tmp_path: Path) -> None:
    """Ctrl-C in the supervisor's terminal does not reach the processes, and what they print is in their log."""
    spec = ProcessSpec("one", ("/bin/sh", "-c", "echo hello; echo oops >&2; exec sleep 600"), ENV, ready_text="oops")
    with Supervisor([spec], tmp_path / "logs") as supervisor:
        pid = supervisor.pid("one")
        assert pid is not None
        assert os.getsid(pid) == pid
    assert (tmp_path / "logs" / "one.log").read_text(encoding="utf-8") == "hello\noops\n"


def test_what_is_killed_comes_back(tmp_path: Path, until: Until) -> None:
    """A killed process is started again under a new id, and the change says what killed it."""
    changes = Changes()
    with Supervisor([ProcessSpec("one", SLEEP, ENV)], tmp_path, on_change=changes) as supervisor:
        first = supervisor.pid("one")
        assert supervisor.kill("one")
        until(lambda: changes.states("one").count("ready") == 2, "the second start")
        assert supervisor.pid("one") not in (None, first)
    assert changes.states("one") == ["starting", "ready", "exited", "starting", "ready", "stopped"]
    (exited,) = [change for change in changes.seen if change.state is ProcessState.EXITED]
    assert exited.line == "one exited: killed by SIGKILL; starts again in 0.2 s"


def test_any_signal_can_be_sent(tmp_path: Path, until: Until) -> None:
    """A stopped (frozen) process stays the same process, and can still be ended without the long grace."""
    with Supervisor([ProcessSpec("one", SLEEP, ENV)], tmp_path, grace_s=600) as supervisor:
        pid = supervisor.pid("one")
        assert supervisor.kill("one", signal.SIGSTOP)
        until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED, "the freeze")
        assert supervisor.pid("one") == pid


def test_the_cause_is_read_from_what_was_written_since_the_start(tmp_path: Path, until: Until) -> None:
    """A full disk is named; the same words of an earlier run are not taken for it."""
    changes = Changes()
    (tmp_path / "one.log").write_text("Address already in use\n", encoding="utf-8")
    script = "test -e flag && { echo 'write: No space left on device' >&2; exit 3; }; echo go; exec sleep 600"
    spec = ProcessSpec("one", ("/bin/sh", "-c", f"cd {tmp_path}; {script}"), ENV, ready_text="go")
    with Supervisor([spec], tmp_path, on_change=changes) as supervisor:
        (tmp_path / "flag").touch()
        supervisor.kill("one")
        until(lambda: changes.states("one").count("exited") >= 2, "the second end")
    details = [change.detail for change in changes.seen if change.state is ProcessState.EXITED]
    assert details[0].startswith("killed by SIGKILL; ")
    assert details[1].startswith("ended with status 3, disk full (free some space); ")


def test_a_process_that_never_becomes_ready_stops_the_start(tmp_path: Path) -> None:
    """The error has the cause and the last lines, and nothing is left running."""
    changes = Changes()
    broken = ProcessSpec("broken", ("/bin/sh", "-c", "echo no such module; exit 1"), ENV, ready_text="never")
    with pytest.raises(StackError, match=r"start broken: ended with status 1; log .*\nno such module"):
        Supervisor([ProcessSpec("one", SLEEP, ENV), broken], tmp_path, on_change=changes).start()
    assert changes.states("broken")[-1] == "failed"
    assert changes.states("one")[-1] == "stopped"
    assert all(gone(change.pid) for change in changes.seen if change.pid is not None)


def test_a_process_that_is_too_slow_is_ended(tmp_path: Path) -> None:
    """Readiness has a time limit."""
    spec = ProcessSpec("slow", SLEEP, ENV, ready=lambda: False)
    with pytest.raises(StackError, match=r"start slow: not ready after 0\.1 s"):
        Supervisor([spec], tmp_path, ready_timeout_s=0.1).start()


@pytest.mark.parametrize("outlives_supervisor", [True, False])
def test_a_missing_program_is_named(outlives_supervisor: bool, tmp_path: Path) -> None:
    """A typing error in a command line is told at once, however the process is started."""
    spec = ProcessSpec("typo", ("/no/such/program",), ENV, outlives_supervisor=outlives_supervisor)
    with pytest.raises(StackError, match=r"start /no/such/program.*: No such file"):
        Supervisor([spec], tmp_path).start()


def test_a_stubborn_process_is_killed_with_its_children(tmp_path: Path, until: Until) -> None:
    """After the grace the whole group is killed, so nothing lives on behind the supervisor's back."""
    with Supervisor([ProcessSpec("one", STUBBORN, ENV, ready_text="up")], tmp_path, grace_s=0.1) as supervisor:
        process = psutil.Process(supervisor.pid("one"))
        until(process.children, "the child")
        family = [process.pid, *(child.pid for child in process.children())]
    until(lambda: all(gone(pid) for pid in family), "the end of the family")


def test_asked_twice_it_waits_only_for_foundations(tmp_path: Path) -> None:
    """What others need still ends as cleanly as it can; a process with a long time of grace is killed."""
    stop = StopRequest()
    clean = "trap 'echo clean; exit' TERM; echo up; while :; do sleep 600 & wait $!; done"
    specs = [
        ProcessSpec("base", ("/bin/sh", "-c", clean), ENV, ready_text="up", foundation=True),
        ProcessSpec("one", STUBBORN, ENV, ready_text="up", grace_s=600),
    ]
    with Supervisor(specs, tmp_path, grace_s=600, stop=stop) as supervisor:
        pid = supervisor.pid("one")
        stop.ask()
        stop.ask()
    assert pid is not None
    assert gone(pid)
    assert (tmp_path / "base.log").read_text(encoding="utf-8") == "up\nclean\n"


def test_a_start_can_be_broken_off(tmp_path: Path) -> None:
    """Asked to stop, it starts nothing more and waits for nothing; what has started is ended."""
    changes, stop = Changes(), StopRequest()
    specs = [
        ProcessSpec("base", SLEEP, ENV, ready=lambda: bool(stop.ask()), foundation=True),
        ProcessSpec("one", SLEEP, ENV),
    ]
    with Supervisor(specs, tmp_path, on_change=changes, stop=stop):
        assert changes.order(ProcessState.READY) == []
    assert changes.states("base") == ["starting", "stopped"]
    assert changes.states("one") == []


def test_a_process_has_its_own_time_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes before the usual time of grace; who takes long is told of."""
    monkeypatch.setattr("neuraphage.dev.supervisor.SLOW_STOP_S", 0.0)
    changes = Changes()
    spec = ProcessSpec("one", STUBBORN, ENV, ready_text="up", grace_s=0.1)
    with Supervisor([spec], tmp_path, on_change=changes, grace_s=600):
        pass
    assert changes.states("one")[-2:] == ["stopping", "stopped"]


def test_the_third_end_in_a_row_tells_the_last_lines(tmp_path: Path, until: Until) -> None:
    """Once, so that a person sees why without opening the log, and is not flooded afterwards."""
    changes = Changes()
    spec = ProcessSpec("one", ("/bin/sh", "-c", "echo the reason; exec sleep 600"), ENV, ready_text="reason")
    with Supervisor([spec], tmp_path, on_change=changes) as supervisor:
        for ends in range(1, 5):
            until(lambda ends=ends: changes.states("one").count("ready") == ends, "the next start")
            supervisor.kill("one")
        until(lambda: changes.states("one").count("exited") == 4, "the last end")
    ends = [change for change in changes.seen if change.state is ProcessState.EXITED]
    log = tmp_path / "one.log"
    assert [("\nthe reason" in change.detail) for change in ends] == [False, False, True, False]
    assert f"starts again in 0.8 s; ended 3 times in a row; log {log} ends:" in ends[2].detail
    assert {change.log for change in ends} == {log}


def test_a_full_disk_is_named_without_any_last_words(
    tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk the log may hold nothing of the reason."""
    changes = Changes()
    spec = ProcessSpec("one", ("/bin/sh", "-c", f"cd {tmp_path}; test -e flag && exit 1; exec sleep 600"), ENV)
    with Supervisor([spec], tmp_path, on_change=changes) as supervisor:
        (tmp_path / "flag").touch()
        monkeypatch.setattr("neuraphage.dev.supervised_process.is_full", lambda folder: folder == tmp_path)
        supervisor.kill("one")
        until(lambda: changes.states("one").count("exited") >= 2, "the second end")
    details = [change.detail for change in changes.seen if change.state is ProcessState.EXITED]
    assert details[0].startswith("killed by SIGKILL; ")
    assert details[1].startswith("ended with status 1, disk full (free some space); ")


def test_a_failing_listener_changes_nothing(tmp_path: Path, until: Until) -> None:
    """A bug in what shows the changes does not stop the watch."""

    def listener(change: ProcessChange) -> None:
        raise RuntimeError(change.line)

    with Supervisor([ProcessSpec("one", SLEEP, ENV)], tmp_path, on_change=listener) as supervisor:
        first = supervisor.pid("one")
        supervisor.kill("one")
        until(lambda: supervisor.pid("one") not in (None, first), "the second start")


def test_stop_during_a_pause_between_starts_is_quick_and_final(tmp_path: Path, until: Until) -> None:
    """Nothing is started once everyone was asked to stop."""
    changes = Changes()
    spec = ProcessSpec("one", SLEEP, ENV)
    with Supervisor([spec], tmp_path, on_change=changes) as supervisor:
        supervisor.kill("one")
        until(lambda: changes.states("one")[-1] == "exited", "the end")
    assert changes.states("one")[-1] == "stopped"
    assert supervisor.pid("one") is None


def test_names_are_checked(tmp_path: Path) -> None:
    """Unknown, doubled and odd names are refused by name."""
    supervisor = Supervisor([ProcessSpec("one", SLEEP, ENV)], tmp_path)
    with pytest.raises(StackError, match="'two': the stack has only one"):
        supervisor.pid("two")
    assert supervisor.pid("one") is None
    assert not supervisor.kill("one")
    with pytest.raises(ValueError, match="must differ"):
        Supervisor([ProcessSpec("one", SLEEP, ENV)] * 2, tmp_path)
    with pytest.raises(ValueError, match="lower case letters"):
        ProcessSpec("../evil", SLEEP, ENV)
    with pytest.raises(ValueError, match="command line is empty"):
        ProcessSpec("one", (), ENV)


KILLED_SUPERVISOR = """
import os, sys
from pathlib import Path
from neuraphage.dev.process_spec import ProcessSpec
from neuraphage.dev.supervisor import Supervisor
argv = ("/bin/sleep", "600")
specs = [
    ProcessSpec("keeps", argv, {"PATH": os.defpath}, outlives_supervisor=True),
    ProcessSpec("dies", argv, {"PATH": os.defpath}),
]
supervisor = Supervisor(specs, Path(sys.argv[1]))
supervisor.start()
print(supervisor.pid("keeps"), supervisor.pid("dies"), flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tie a process to its parent")
def test_kill_9_of_the_supervisor_takes_its_workers_along(tmp_path: Path, until: Until) -> None:
    """Workers die with a killed supervisor, so the next one is not doubled; the server lives on."""
    argv = [sys.executable, "-c", KILLED_SUPERVISOR, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        keeps, dies = map(int, launcher.stdout.readline().split())
        name = psutil.Process(dies).name()
        launcher.kill()
    try:
        assert name == "sleep"
        until(lambda: gone(dies), "the worker's death")
        assert not gone(keeps)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeps, signal.SIGKILL)


@pytest.mark.real_redis
def test_a_server_is_kept_up_and_a_left_over_one_adopted(data_dir: Path, until: Until) -> None:
    """The server comes back after kill -9 under the same address; a running one is not started twice."""
    changes = Changes()
    first = EmbeddedServer(data_dir)
    first.start()
    left_over = first.pid
    first.release()  # as after the death of its launcher
    server = EmbeddedServer(data_dir)
    server.prepare()
    try:
        with Supervisor([server_spec(server)], data_dir / "logs", on_change=changes) as supervisor:
            assert supervisor.pid("server") == left_over
            supervisor.kill("server")
            until(lambda: changes.states("server").count("ready") == 2, "the second start")
            assert server.answers()
        assert not server.answers()
    finally:
        server.release()


@pytest.mark.parametrize(("ends", "delay_s"), [(0, 0.2), (1, 0.2), (2, 0.4), (5, 3.2), (9, 30.0), (10**6, 30.0)])
def test_restarts_keep_a_growing_distance(ends: int, delay_s: float) -> None:
    """The pause doubles up to half a minute, for any number of ends."""
    assert restart_delay_s(ends) == delay_s


@pytest.mark.parametrize(
    ("code", "cause", "words"),
    [
        (0, None, "ended with status 0"),
        (-9, None, "killed by SIGKILL"),
        (-99, None, "killed by signal 99"),
        (1, "disk full", "ended with status 1, disk full"),
        (None, None, "ended"),
    ],
)
def test_ends_in_words(code: int | None, cause: str | None, words: str) -> None:
    """People read names of signals and causes, not numbers."""
    assert exit_words(code, cause) == words


def test_a_large_log_is_set_aside(tmp_path: Path) -> None:
    """One former log is kept; a small or missing one is left alone."""
    log = tmp_path / "one.log"
    rotate(log, max_bytes=3)
    log.write_text("abc", encoding="utf-8")
    rotate(log, max_bytes=3)
    assert log.exists()
    log.write_text("abcd", encoding="utf-8")
    rotate(log, max_bytes=3)
    assert not log.exists()
    assert (tmp_path / "one.log.1").read_text(encoding="utf-8") == "abcd"


def test_a_process_may_have_its_own_time_to_become_ready(tmp_path: Path) -> None:
    """A server that reads a large file is not ended as too slow, again and again."""
    slow = ("/bin/sh", "-c", "sleep 0.4; echo is-up; exec sleep 600")
    spec = ProcessSpec("slow", slow, ENV, ready_text="is-up", ready_timeout_s=60.0)
    with Supervisor([spec], tmp_path, ready_timeout_s=0.05) as supervisor:
        assert supervisor.state("slow") is ProcessState.READY


def test_the_server_has_time_to_read_its_data(tmp_path: Path) -> None:
    """As long as a server that is started alone."""
    server = EmbeddedServer(tmp_path)
    server.prepare()
    assert server_spec(server).ready_timeout_s == LOADING_TIMEOUT_S
    server.release()


def test_a_log_that_cannot_be_set_aside_keeps_no_process_down(tmp_path: Path) -> None:
    """Something lies in the place of the former log."""
    log = tmp_path / "one.log"
    log.write_bytes(b"x" * (MAX_LOG_BYTES + 1))
    (tmp_path / "one.log.1" / "x").mkdir(parents=True)
    with Supervisor([ProcessSpec("one", SLEEP, ENV)], tmp_path) as supervisor:
        assert supervisor.pid("one") is not None


def test_whatever_goes_wrong_in_a_keeper_is_told(tmp_path: Path) -> None:
    """A fault of ours ends its thread; whoever waits for the process is told, and none is left running."""

    def broken() -> bool:
        raise RuntimeError("a fault of ours")

    changes = Changes()
    supervisor = Supervisor([ProcessSpec("one", SLEEP, ENV, ready=broken)], tmp_path, on_change=changes)
    with pytest.raises(StackError, match="start one: RuntimeError: a fault of ours"):
        supervisor.start()
    pids = [change.pid for change in changes.seen if change.state is ProcessState.STARTING]
    assert [gone(pid) for pid in pids if pid is not None] == [True]
