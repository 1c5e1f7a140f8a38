"""Commands in the sandbox end as others do: their status, their output, and all that they have started."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool
from patience import PATIENCE_S
from sandboxkit import OUTPUT_CHARS, Calm, SandboxedHost


def eventually(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, "the condition did not come"
        time.sleep(0.01)


def living(token: str) -> list[int]:
    """Processes of this host that have a word among their arguments."""
    return [one.pid for one in psutil.process_iter(["cmdline"]) if token in " ".join(one.info["cmdline"] or ())]


@pytest.mark.parametrize(("line", "code"), [("true", 0), ("exit 7", 7), ("kill -9 $$", 137), ("no-such-program", 127)])
def test_the_exit_status_is_the_commands(host: SandboxedHost, line: str, code: int) -> None:
    """A shell would report a signal in the same way."""
    status = host.run(line)
    assert (status.exit_code, status.reason, status.left_behind) == (code, "exited", 0)


def test_words_are_passed_on_as_they_are(host: SandboxedHost) -> None:
    """The command line passes two more shells, which must not read it."""
    line = "printf '%s\\n' '$HOME' \"a b\" '`id`' 'x;y' \"--\" '\"q\"'; echo out; echo err >&2"
    assert host.run(line).output == '$HOME\na b\n`id`\nx;y\n--\n"q"\nout\nerr\n'


def test_it_is_asked_to_end_before_it_is_killed(host: SandboxedHost) -> None:
    """As without a sandbox: a command that hears SIGTERM may put its things in order."""
    line = "trap 'echo ended; exit 3' TERM; echo ready > ready; while :; do sleep 0.05; done"
    command = host.start(line)
    eventually((host.work / "ready").exists)
    host.spool.cancel(command.effect_id)
    status = host.spool.look(command.effect_id, OUTPUT_CHARS)
    assert (status.exit_code, status.reason) == (3, "cancelled")
    assert status.output.splitlines()[-1] == "ended"


def test_its_time_is_limited(host: SandboxedHost) -> None:
    """One that hears nothing is killed."""
    token = f"deaf-{os.getpid()}-{time.monotonic_ns()}"
    status = host.run(f"trap '' TERM; : {token}; sleep 1000 & wait; sleep 1000", timeout_s=1.0)
    assert status.reason == "timeout"
    assert living(token) == []


def test_a_daemon_does_not_outlive_it(host: SandboxedHost) -> None:
    """Not in a session of its own, not with a parent that is gone, not one that stops every process it finds."""
    token = f"daemon-{os.getpid()}-{time.monotonic_ns()}"
    program = (
        "import os, signal, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "open('up', 'w').close()\n"
        "while True:\n"
        "    for name in os.listdir('/proc'):\n"
        "        if name.isdigit() and int(name) not in (1, os.getpid()):\n"
        "            try: os.kill(int(name), signal.SIGSTOP)\n"
        "            except OSError: pass\n"
        "    time.sleep(0.01)\n"
    )
    (host.work / "daemon.py").write_text(program, encoding="utf-8")
    status = host.run(f"{sys.executable} daemon.py {token} > /dev/null 2>&1; sleep 0.2; echo over", timeout_s=5.0)
    assert status.reason in ("exited", "timeout")
    assert living(token) == []


def test_the_death_of_its_runner_is_its_end(host: SandboxedHost) -> None:
    """By the kernel: nobody is left who could end it."""
    token = f"orphan-{os.getpid()}-{time.monotonic_ns()}"
    command = host.start(f"setsid bash -c ': {token}; echo up > up; sleep 1000' & wait")
    eventually((host.work / "up").exists)
    (entry,) = [one for one in (host.data / "spool").iterdir() if one.name == command.effect_id]
    words = (entry / "alive").read_text(encoding="utf-8").split()
    os.kill(int(words[words.index("runner") + 1]), signal.SIGKILL)
    eventually(lambda: not living(token))
    eventually(lambda: host.spool.look(command.effect_id, OUTPUT_CHARS).state is DetachedState.LOST)


def test_another_worker_finds_it(host: SandboxedHost) -> None:
    """A sandboxed command outlives its worker, and is attached to by its effect id."""
    command = host.start("while [ ! -e go ]; do sleep 0.02; done; echo found")
    other = CommandSpool(host.data / "spool", 1_000_000)
    assert other.start(command) is DetachedState.RUNNING
    (host.work / "go").touch()
    assert other.wait(command.effect_id, OUTPUT_CHARS, Calm()).output == "found\n"


def test_a_tasks_tmp_is_its_own_and_stays(host: SandboxedHost) -> None:
    """What one command leaves there the next one finds, another task does not; also where its mode was changed."""
    assert host.run("echo left > /tmp/a; chmod 1777 /tmp; touch /var/tmp/b").exit_code == 0
    assert host.run("cat /tmp/a; ls /var/tmp").output == "left\nb\n"
    assert host.run("ls /tmp/a /var/tmp/b", task_id="other").output.count("No such file") == 2


def test_what_is_left_in_tmp_goes_with_time(host: SandboxedHost) -> None:
    """With the output of commands; a task that ran one lately keeps it."""
    for task_id in ("old", "new"):
        host.run("mkdir -p /tmp/d; echo x > /tmp/d/f; chmod 0 /tmp/d", task_id=task_id)
    long_ago = time.time() - 1_000
    os.utime(host.folders.root / "old", (long_ago, long_ago))
    assert host.folders.expire(500) == 1
    assert [one.name for one in host.folders.root.iterdir()] == ["new"]


def test_a_link_in_place_of_a_tasks_folder_is_refused(host: SandboxedHost, tmp_path: Path) -> None:
    """Nobody else's folder becomes a command's /tmp."""
    host.run("true")
    (host.folders.root / "evil").symlink_to(tmp_path)
    with pytest.raises(Exception, match="cannot make a folder for temporary files"):
        host.command("true", task_id="evil")
