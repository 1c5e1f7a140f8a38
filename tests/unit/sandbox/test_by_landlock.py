"""Commands confined by Landlock alone, through the spool: what holds where bubblewrap cannot be had."""

from __future__ import annotations

import socket
import subprocess

import pytest
from test_repository import orders_of

from neuraphage.sandbox.confinement import Landlock
from neuraphage.sandbox.kernel_limits import landlock_abi
from neuraphage.sandbox.landlock import LEAST_ABI
from sandboxkit import LIMITS, SandboxedHost

SECRET = "canary-of-the-home"


@pytest.fixture
def landlocked(host: SandboxedHost) -> SandboxedHost:
    """The host without bubblewrap."""
    if landlock_abi() < LEAST_ABI:
        pytest.skip("this kernel has no Landlock")
    host.sandbox = Landlock(host.folders, LIMITS, [str(host.data)])  # type: ignore[assignment]  # another kind
    return host


def test_it_works_in_its_folder_and_in_its_temporary_one(landlocked: SandboxedHost) -> None:
    """Commits too."""
    line = (
        "echo x > made && cat made && git init -q && git add made"
        " && git -c user.name=A -c user.email=a@b commit -qm first && git log --format=%s"
        ' && echo y > "$TMPDIR/z" && cat "$TMPDIR/z"; umask; ulimit -c'
    )
    status = landlocked.run(line)
    assert status.output.split() == ["x", "first", "y", "0077", "0"]


def test_it_reads_no_secret_and_changes_nothing_else(landlocked: SandboxedHost) -> None:
    """Nor does it reach a socket of this machine."""
    (landlocked.home / ".ssh").mkdir()
    (landlocked.home / ".ssh" / "id_rsa").write_text(SECRET, encoding="utf-8")
    (landlocked.data / "server.conf").write_text(SECRET, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        status = landlocked.run(
            f"cat ~/.ssh/id_rsa {landlocked.data}/server.conf; echo x > ~/new; echo x > /etc/canary;"
            f" exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        )
    assert SECRET not in status.output
    assert "reached" not in status.output
    assert not (landlocked.home / "new").exists()


LINES = (
    "echo x > .git/hooks/pre-commit",
    "git config core.fsmonitor x",
    "rm -rf .git/hooks .git/config",
    "echo ../evil > .git/commondir",
    "mv .git was; cp -r was .git; echo x >> .git/config",
    'mv .git "$TMPDIR/was"; mkdir .git; echo x > .git/config',
    "mv .git/hooks hooks; ln -s /tmp .git/hooks; ln -sf /etc/passwd .git/config",
    "echo x > .git/worktrees/tree/commondir; echo x > .git/worktrees/tree/gitdir",
)


@pytest.mark.parametrize("line", LINES)
def test_orders_for_a_persons_git_are_undone(landlocked: SandboxedHost, line: str) -> None:
    """When the command has ended; its result says so, and the repository is as usable as before."""
    git = ["git", "-C", str(landlocked.work), "-c", "user.name=A", "-c", "user.email=a@b"]
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "first"],
        ["worktree", "add", "-q", "../tree"],
    ):
        subprocess.run([*git, *words], check=True, capture_output=True)
    before = orders_of(landlocked.work / ".git")
    status = landlocked.run(line)
    assert "what git obeys was changed and put back" in status.output
    assert orders_of(landlocked.work / ".git") == before
    assert not (landlocked.work / ".git" / "commondir").exists()
    assert subprocess.run([*git, "log", "--format=%s"], check=True, capture_output=True).stdout == b"first\n"
    assert "put back" not in landlocked.run("git status; echo x > new").output


def test_its_end_is_that_of_any_command(landlocked: SandboxedHost) -> None:
    """Status, time and what it leaves in the background."""
    assert landlocked.run("exit 7").exit_code == 7
    assert landlocked.run("sleep 1000", timeout_s=0.5).reason == "timeout"
    assert landlocked.run("sleep 1000 & echo over").left_behind == 1
