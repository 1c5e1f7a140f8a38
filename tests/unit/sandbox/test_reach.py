"""What a command in the sandbox reaches, by what comes of it: on the disk, in other processes, on the network."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from neuraphage.sandbox import view
from sandboxkit import SandboxedHost

SECRET = "canary-of-the-home"


def test_what_it_changes_is_its_working_directory_and_tmp(host: SandboxedHost) -> None:
    """The control: there it works as it does without a sandbox."""
    status = host.run("echo kept > here && echo x > /tmp/there && mkdir a && mv here a/ && cat a/here /tmp/there")
    assert (status.exit_code, status.output) == (0, "kept\nx\n")
    assert (host.work / "a" / "here").read_text(encoding="utf-8") == "kept\n"
    assert not Path("/tmp/there").exists()


@pytest.mark.parametrize("place", ["/etc/canary", "/usr/local/bin/canary", "/opt/canary", "/root/canary", "/canary"])
def test_nothing_outside_can_be_written(host: SandboxedHost, place: str) -> None:
    """The root is read-only, whoever the user is."""
    assert host.run(f"echo x > {place}").exit_code != 0
    assert not Path(place).exists()


def test_the_home_is_read_only_and_its_secrets_are_not_there(host: SandboxedHost) -> None:
    """Whatever begins with a dot is hidden, known or not; but tool chains, and what git calls its user."""
    names = [".ssh/id_rsa", ".aws/credentials", ".netrc", ".bash_history", ".config/gh/hosts.yml", ".own/token"]
    for name in names:
        (host.home / name).parent.mkdir(parents=True, exist_ok=True)
        (host.home / name).write_text(SECRET, encoding="utf-8")
    (host.home / ".gitconfig").write_text("[user]\n\tname = Somebody\n", encoding="utf-8")
    (host.home / ".pyenv").mkdir()
    (host.home / "notes").write_text("seen\n", encoding="utf-8")
    status = host.run(
        "ls -A ~; cat ~/notes; git config user.name; grep -r canary ~ 2>&1; echo x > ~/notes; echo y > ~/new"
    )
    assert status.output.splitlines()[:6] == [".gitconfig", ".pyenv", "notes", "project", "seen", "Somebody"]
    assert SECRET not in status.output
    assert status.output.count("Read-only file system") == 2
    assert not (host.home / "new").exists()


def test_secrets_by_their_own_path_are_not_there(host: SandboxedHost) -> None:
    """Also for who knows where they are, and through a link in the working directory."""
    (host.home / ".ssh").mkdir()
    (host.home / ".ssh" / "id_rsa").write_text(SECRET, encoding="utf-8")
    (host.data / "server.conf").write_text(SECRET, encoding="utf-8")
    (host.work / "link").symlink_to(host.home / ".ssh" / "id_rsa")
    status = host.run(f"cat {host.home}/.ssh/id_rsa link {host.data}/server.conf; ls -A {host.data}; cat /etc/shadow")
    assert SECRET not in status.output
    assert status.output.count("No such file or directory") == 3
    assert "root:" not in status.output


@pytest.mark.parametrize("way", ["a link", "the home on PATH", "the secrets on PATH"])
def test_nothing_of_the_home_leads_to_its_secrets(
    host: SandboxedHost, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a link with a name that is shown, nor a search path that names the whole home."""
    monkeypatch.setattr(view, "SYSTEM_HIDDEN", (str(host.home.parent),))  # as /home is
    (host.home / ".ssh").mkdir()
    (host.home / ".ssh" / "id_rsa").write_text(SECRET, encoding="utf-8")
    if way == "a link":
        (host.home / "keys").symlink_to(".ssh")
    elif way == "the home on PATH":
        host.environ = {"PATH": f"{os.environ['PATH']}:{host.home}"}
    else:
        host.environ = {"PATH": f"{os.environ['PATH']}:{host.home}/.ssh/.."}
    status = host.run("cat ~/keys/id_rsa ~/.ssh/id_rsa; ls -A ~")
    assert SECRET not in status.output
    assert ".ssh" not in status.output.splitlines()


def test_a_home_that_is_the_working_directory_keeps_its_secrets(host: SandboxedHost) -> None:
    """There everything else may be changed, for somebody has said so."""
    host.work = host.home
    (host.home / ".ssh").mkdir()
    (host.home / ".ssh" / "id_rsa").write_text(SECRET, encoding="utf-8")
    (host.home / ".netrc").write_text(SECRET, encoding="utf-8")
    status = host.run("echo x > new; cat .ssh/id_rsa .netrc; echo y > .ssh/id_rsa; echo z > .netrc; ls -A .ssh")
    assert SECRET not in status.output
    assert (host.home / "new").exists()
    assert (host.home / ".ssh" / "id_rsa").read_text(encoding="utf-8") == SECRET
    assert (host.home / ".netrc").read_text(encoding="utf-8") == SECRET


def test_orders_for_a_persons_git_cannot_be_left(host: SandboxedHost) -> None:
    """Neither written, nor put there by moving what they lie in; commits go on as ever."""
    subprocess.run(["git", "init", "-q", str(host.work)], check=True)
    before = (host.work / ".git" / "config").read_bytes()
    line = (
        "echo '#!/bin/sh' > .git/hooks/pre-commit; git config core.fsmonitor ./evil; mv .git was; mv .git/hooks h;"
        " rm -rf .git/hooks; ln -sf /tmp .git/config; echo a > f; git add f;"
        " git -c user.name=A -c user.email=a@b commit -qm 'first' && git log --format=%s"
    )
    status = host.run(line)
    assert status.output.splitlines()[-1] == "first"
    assert (host.work / ".git" / "config").read_bytes() == before
    assert not (host.work / ".git" / "hooks" / "pre-commit").exists()
    assert (host.work / ".git" / "hooks").is_dir()


def test_nothing_of_the_network_is_reached(host: SandboxedHost) -> None:
    """Neither a port of this machine, nor an abstract socket, nor a name."""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket(socket.AF_UNIX) as abstract:
        port, name = listening.getsockname()[1], f"neuraphage-{os.getpid()}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        listening.settimeout(0)
        abstract.settimeout(0)
        program = (
            "import socket\n"
            f"for kind, place in ((socket.AF_INET, ('127.0.0.1', {port})), (socket.AF_UNIX, '\\0{name}')):\n"
            "    try: socket.socket(kind).connect(place); print('reached')\n"
            "    except OSError as error: print(type(error).__name__)\n"
            "try: socket.getaddrinfo('example.com', 80); print('reached')\n"
            "except OSError as error: print('no name')\n"
        )
        (host.work / "reach.py").write_text(program, encoding="utf-8")
        status = host.run(f"{sys.executable} reach.py")
        assert status.output.splitlines() == ["ConnectionRefusedError", "ConnectionRefusedError", "no name"]
        for one in (listening, abstract):
            with pytest.raises(BlockingIOError):
                one.accept()


def test_sockets_of_services_are_not_there(host: SandboxedHost) -> None:
    """Of Docker, D-Bus and agents: a read-only mount would still let a command connect to them."""
    assert host.run("ls -A /run /var/run/ | grep -v :").output.strip() == ""


def test_other_processes_are_not_seen(host: SandboxedHost) -> None:
    """It cannot read the environment of its worker, nor signal it."""
    status = host.run(f"kill -0 {os.getpid()}; ls -d /proc/[0-9]* | wc -l")
    assert "No such process" in status.output
    assert int(status.output.split()[-1]) < 10


def test_it_has_no_rights_to_gain(host: SandboxedHost) -> None:
    """No capability, no new privileges, no user namespace of its own, no core dump, and files for this user alone."""
    status = "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status"
    words = host.run(f"{status}; unshare -Ur true; ulimit -c; umask; touch f; stat -c %a f").output.split()
    assert [word for word in words if set(word) == {"0"} and len(word) == 16] == ["0" * 16] * 5
    assert (words[words.index("NoNewPrivs:") + 1], words[words.index("Seccomp:") + 1]) == ("1", "2")
    assert words[-3:] == ["0", "0077", "600"]
    assert "failed:" in words


def test_its_files_and_memory_have_limits(host: SandboxedHost) -> None:
    """What is over a limit fails in the command; the machine goes on."""
    status = host.run(f"head -c {9 * 1024**2} /dev/zero > big; stat -c %s big")
    assert status.output.split()[-1] == str(8 * 1024**2)
    grown = f"{sys.executable} -c 'b = bytearray({5 * 1024**3})'"
    assert "MemoryError" in host.run(grown).output


def test_named_sockets_are_not_reached(host: SandboxedHost) -> None:
    """Wherever they lie, in the working directory too: who sees one can connect to it, also where it is read-only."""
    outside, inside = host.folder / "s", host.work / "s"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        for listening, path in ((one, outside), (other, inside)):
            listening.bind(str(path))
            listening.listen()
        program = (
            "import socket, sys\n"
            "for path in sys.argv[1:]:\n"
            "    try: socket.socket(socket.AF_UNIX).connect(path); print('reached')\n"
            "    except OSError: print('refused')\n"
        )
        (host.work / "reach.py").write_text(program, encoding="utf-8")
        status = host.run(f"{sys.executable} reach.py {outside} {inside}")
    assert status.output.split() == ["refused", "refused"]


def test_its_own_processes_can_be_traced(host: SandboxedHost) -> None:
    """Sanitizers and debuggers do so; of others it sees none."""
    program = "import ctypes, os; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))"  # PTRACE_TRACEME
    (host.work / "trace.py").write_text(program, encoding="utf-8")
    assert host.run(f"{sys.executable} trace.py").output == "0\n"
