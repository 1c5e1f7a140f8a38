"""Process identity and absence, with real processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from neuraphage.runtime import host
from neuraphage.runtime.host import ProcessIdentity, host_id, identify, process_gone, this_process


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until its input closes."""
    process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_this_process_is_not_gone() -> None:
    """The caller itself is alive and is named by its own id."""
    me = this_process()
    assert me.pid == os.getpid()
    assert not process_gone(me)


def test_a_running_then_killed_then_reaped_child(child: subprocess.Popen[bytes]) -> None:
    """Alive while it runs, gone as a zombie before anyone reaps it, gone afterwards."""
    identity = identify(child.pid)
    assert not process_gone(identity)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, not reaped
    assert psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE
    assert process_gone(identity)
    child.wait()
    assert process_gone(identity)


def test_a_frozen_process_is_not_gone(child: subprocess.Popen[bytes]) -> None:
    """A stopped process may go on at any time, so it counts as alive."""
    identity = identify(child.pid)
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert not process_gone(identity)


def test_a_later_process_with_the_same_id_is_another(child: subprocess.Popen[bytes]) -> None:
    """A used-again id does not keep the former process alive."""
    identity = identify(child.pid)
    assert process_gone(ProcessIdentity(child.pid, identity.start_time - 1))


def test_a_command_name_with_parentheses_is_read_right(tmp_path: Path) -> None:
    """The start time is found behind a command name that looks like the end of the name field."""
    odd = tmp_path / "a) Z 1 (b"
    shutil.copy("/bin/cat", odd)
    with subprocess.Popen([odd], stdin=subprocess.PIPE) as process:
        identity = identify(process.pid)
        assert not process_gone(identity)
        assert process.stdin is not None
        process.stdin.close()
    assert process_gone(identity)


def test_identify_of_a_gone_process_says_so(child: subprocess.Popen[bytes]) -> None:
    """A process that ended cannot be identified any more."""
    child.kill()
    child.wait()
    with pytest.raises(ProcessLookupError, match="identify process"):
        identify(child.pid)


@pytest.mark.parametrize("error", [psutil.AccessDenied, psutil.NoSuchProcess])
def test_what_may_not_be_looked_at_counts_as_alive(error: type[psutil.Error], monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden or foreign processes are not evidence of a death."""

    def refuse(pid: int) -> psutil.Process:
        raise error(pid)

    def forbidden(pid: int, signum: int) -> None:
        raise PermissionError

    monkeypatch.setattr(host, "_start_time", lambda pid: None)
    monkeypatch.setattr(host.psutil, "Process", refuse)
    monkeypatch.setattr(host.os, "kill", forbidden)
    assert not process_gone(ProcessIdentity(1, 1.0))


def test_the_other_platforms_path_agrees(child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without /proc the same answers come from psutil."""
    monkeypatch.setattr(host, "_LINUX", False)
    identity = identify(child.pid)
    assert not process_gone(identity)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_gone(identity)
    child.wait()
    assert process_gone(identity)


def test_host_id_is_the_same_in_every_process_and_names_boot_and_namespace() -> None:
    """Processes that see each other's ids agree on the host; it is one word without spaces."""
    code = "from neuraphage.runtime.host import host_id; print(host_id())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert other == host_id()
    assert len(host_id().split()) == 1


@pytest.mark.skipif(shutil.which("unshare") is None or os.getuid() != 0, reason="needs root and unshare")
def test_host_id_differs_between_process_namespaces() -> None:
    """Two containers of one machine are two hosts."""
    code = "from neuraphage.runtime.host import host_id; print(host_id())"
    argv = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", code]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        pytest.skip(f"unshare is not allowed here: {result.stderr.strip()}")
    assert result.stdout.strip() != host_id()
