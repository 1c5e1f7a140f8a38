"""Commands and machines that do what nobody expects of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from interruptkit import RESERVED_SIGNALS
from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool

DONE, RUNNING, LOST, ABSENT = DetachedState.DONE, DetachedState.RUNNING, DetachedState.LOST, DetachedState.ABSENT


def run(spool, command, calm, limit_chars=10_000):
    """Start a command and wait for its end."""
    assert spool.start(command) is RUNNING
    return spool.wait(command.effect_id, limit_chars, calm)


@pytest.mark.parametrize(
    "again", ["echo two > /dev/stderr", "echo two > /dev/stdout", "echo two | tee /dev/stderr >/dev/null"]
)
def test_output_that_is_opened_anew_keeps_what_was_there(spool, order, calm, again):
    """Scripts write to /dev/stderr by name; that opens the output a second time and must not empty it."""
    assert run(spool, order(f"echo one; {again}; echo three"), calm).output == "one\ntwo\nthree\n"


def test_output_limit_of_a_command_that_ended_by_itself(tmp_path, order, calm):
    """What was cut off is told, also when the command was faster than the limit."""
    spool = CommandSpool(tmp_path / "small", 5_000)
    command = order("head -c 60000 /dev/zero")
    status = run(spool, command, calm)
    assert (status.state, status.reason) == (DONE, "output_limit")
    assert (tmp_path / "small" / command.effect_id / "output").stat().st_size == 5_000


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_output_that_the_command_closes(spool, order, calm, tmp_path):
    """A command that closes its output still runs to its end, and its runner does not spin meanwhile."""
    status = run(spool, order("exec >&- 2>&-; sleep 1; cat /proc/$PPID/stat > runner; exit 3"), calm)
    assert (status.exit_code, status.output) == (3, "")
    used_ticks = [
        int(word) for word in (tmp_path / "runner").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
    ]
    assert sum(used_ticks) < os.sysconf("SC_CLK_TCK") / 2


def test_what_is_written_while_it_is_ended_is_kept(spool, order, calm):
    """A farewell at the polite signal is a part of the output, however long it is."""
    line = "trap 'head -c 300000 /dev/zero | tr \"\\0\" x; echo bye; exit 5' TERM; sleep 60 & wait"
    status = run(spool, order(line, timeout_s=2.0), calm)
    assert (status.reason, status.exit_code) == ("timeout", 5)
    assert status.output.endswith("xbye\n")


def test_signals_to_a_parent_are_ignored(spool, order, calm):
    """Some programs tell their parent by a signal that they are ready; the runner must outlive that."""
    line = "for name in HUP INT QUIT USR1 USR2 ALRM TERM; do kill -$name $PPID; done; sleep 0.2; echo alive"
    status = run(spool, order(line), calm)
    assert (status.state, status.output) == (DONE, "alive\n")


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_a_command_that_signals_its_whole_group(spool, order, calm, name):
    """`kill 0` reaches the command and what it started: its runner is in no group with it, and tells how it ended."""
    status = run(spool, order(f"echo before; kill -{name} 0; sleep 60"), calm)
    number = getattr(signal, f"SIG{name}")
    assert (status.state, status.exit_code, status.output) == (DONE, -number, "before\n")


def test_a_command_that_stops_its_own_runner(spool, order, calm):
    """The runner is woken again, so the time limit of the command holds."""
    status = run(spool, order("kill -STOP $PPID; sleep 60", timeout_s=1.0), calm)
    assert (status.state, status.reason) == (DONE, "timeout")


def test_what_a_lost_command_wrote_is_told(spool, order, calm):
    """How it ended is unknown; how far it came is not."""
    status = run(spool, order("echo step one; until [ -s spool/*/output ]; do :; done; kill -9 $PPID; sleep 60"), calm)
    assert (status.state, status.exit_code, status.output) == (LOST, None, "step one\n")


def test_a_deleted_entry_ends_its_command(spool, order, token, living, eventually):
    """Nobody could find, cancel or read a command whose folder is gone, so it does not go on."""
    command = order(f"sleep {token}")
    spool.start(command)
    eventually(lambda: len(living()) == 1)
    shutil.rmtree(spool._root / command.effect_id)
    eventually(lambda: living() == [])


def test_a_new_folder_has_a_new_name_for_everyone(spool):
    """A process that knew the old folder learns that its records are gone."""
    old = spool.identity
    shutil.rmtree(spool._root)
    new = CommandSpool(spool._root, 1_000).identity
    assert spool.identity == new != old


@pytest.mark.parametrize("torn", ["", "0123", "z" * 32])
def test_a_torn_name_is_nobodys_name(spool, torn):
    """After a power cut two folders could both have an empty name, and be taken for one."""
    spool.identity  # noqa: B018 - writes the file
    (spool._root / "identity").write_text(torn, encoding="utf-8")
    with pytest.raises(SpoolError, match="identity"):
        CommandSpool(spool._root, 1_000).identity  # noqa: B018 - raises


def test_no_thread_is_left_to_collect_the_runner(spool, order, calm, monkeypatch):
    """The command runs all the same, and start says so: it must not look as if it had not."""

    def refuse(self):
        raise RuntimeError("can't start new thread")

    command = order("echo ran")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert spool.start(command) is RUNNING
    monkeypatch.undo()
    assert spool.wait(command.effect_id, 100, calm).output == "ran\n"


def test_what_cannot_be_read_is_an_error_of_the_spool(spool, order, calm, monkeypatch):
    """A worker that is out of files does not take an ended command for a failed one."""
    command = order("echo hi")
    run(spool, command, calm)

    def refuse(self, *_args, **_kwargs):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SpoolError, match="Too many open files"):
        spool.look(command.effect_id, 100)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(SpoolError, match="Too many open files"):
        spool.look(command.effect_id, 100)


def test_a_worker_that_is_out_of_files_for_a_moment_waits_on(spool, order, calm, monkeypatch):
    """A look that fails does not give up a command that goes on."""
    command = order("until [ -e go ]; do sleep 0.01; done; echo done")
    spool.start(command)
    real, looks = os.open, []

    def refuse_some(path, *args, **kwargs):
        if Path(path) == spool._root / command.effect_id and len(looks) < 5:
            looks.append(path)
            if len(looks) == 5:
                (spool._root.parent / "go").touch()
            raise OSError(24, "Too many open files")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse_some)
    assert spool.wait(command.effect_id, 100, calm).output == "done\n"
    assert len(looks) == 5


@pytest.fixture
def few_names(tmp_path):
    """A folder on a disk that holds few files, of a kind where a second name of a file costs nothing."""
    folder, image = tmp_path / "few", tmp_path / "image"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(8_000_000)
    for step in (["mkfs.ext4", "-q", "-N", "48", str(image)], ["mount", "-o", "loop", str(image), str(folder)]):
        if shutil.which(step[0]) is None or subprocess.run(step, check=False, capture_output=True).returncode != 0:
            pytest.skip("may not mount a small disk here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_cancel_needs_no_space(few_names, order, eventually):
    """A command that uses up every file of the disk can be cancelled all the same."""
    spool = CommandSpool(few_names / "spool", 1_000_000)
    command = order(f"cd {few_names}; for i in $(seq 100); do : > $i; done; sleep 60")
    spool.start(command)
    eventually(lambda: os.statvfs(few_names).f_favail == 0)
    assert spool.cancel(command.effect_id) is DONE
    assert spool.look(command.effect_id, 100).reason == "cancelled"


def test_one_unreadable_entry_hides_no_other(spool, order, monkeypatch):
    """The watcher still learns of every other command."""
    first, second = order("sleep 60"), order("sleep 60")
    spool.start(first)
    spool.start(second)
    alive = spool._root / first.effect_id / "alive"
    alive.rename(alive.with_name("was"))
    alive.symlink_to("alive")  # a loop: nobody can open it, not even root
    assert [effect_id for effect_id, _ in spool.running()] == [second.effect_id]
    alive.unlink()
    alive.with_name("was").rename(alive)
    assert len(spool.running()) == 2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_signals_that_a_background_shell_ignores(spool, order, calm):
    """A worker that was started with & ignores SIGQUIT; a command must not."""
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        status = run(spool, order("", argv=("/bin/cat", "/proc/self/status")), calm)
    finally:
        signal.signal(signal.SIGQUIT, before)
    ignored = int(status.output.partition("SigIgn:")[2].split()[0], 16)
    assert ignored & ~RESERVED_SIGNALS == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_command_is_not_told_where_its_entry_is(spool, order, calm, tmp_path):
    """Nothing that it inherits leads there: no open file, variable, argument or folder. Its result is written there."""
    (tmp_path / "work").mkdir()
    look = "ls -l /proc/$$/fd/; cat /proc/$$/environ /proc/$$/cmdline | tr '\\0' '\\n'; pwd"
    command = order(look, cwd=str(tmp_path / "work"), argv=("/bin/bash", "-c", look))
    status = run(spool, command, calm)
    assert status.exit_code == 0
    assert "/dev/null" in status.output
    assert command.effect_id not in status.output
    assert str(tmp_path / "spool") not in status.output


AS_ANY_USER = ("setpriv", "--bounding-set=-sys_ptrace,-dac_read_search,-dac_override") if os.geteuid() == 0 else ()
"""Without root's right to look at all processes."""
LOOKER = """
import sys, uuid
from pathlib import Path
from neuraphage.ports import SpoolCommand
from neuraphage.spool import CommandSpool
from sandboxkit import Calm
spool, name = CommandSpool(Path(sys.argv[1]), 100_000), uuid.uuid4().hex
look = "ls -l /proc/$PPID/fd; cat -v /proc/$PPID/environ"
spool.start(SpoolCommand(name, ("/bin/bash", "-c", look), "/", 300.0, {"PATH": "/usr/bin:/bin"}))
print(name in (output := spool.wait(name, 10_000, Calm()).output), output)
"""


@pytest.mark.skipif(AS_ANY_USER != () and shutil.which("setpriv") is None, reason="needs setpriv")
def test_nor_does_it_see_in_its_runner(tmp_path):
    """The runner is of the same user, and has the entry open."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    argv = [*AS_ANY_USER, sys.executable, "-c", LOOKER, str(tmp_path / "spool")]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, env=environ)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("False ")
    assert "Permission denied" in ran.stdout
