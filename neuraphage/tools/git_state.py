"""Asks git for the branch and the state of a working directory, without letting the repository run anything.

A repository may be anybody's, and its configuration can name programs that a mere `git status` starts: a monitor of the
file system, filters of contents, hooks, transports of a partial clone. None of them is wanted for a count of files.
"""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from neuraphage.model.git_state import GitState
from neuraphage.proc.own_session import kill_group, start
from neuraphage.tools.environment import clean_environment

MOST_BYTES = 1 << 20
"""Of what git prints that is read: some ten thousand files."""
MOST_FILTERS = 50
COMMIT_DIGITS = 10
BRANCH_CHARS = 200

_SAFE = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.untrackedCache=keep",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "protocol.allow=never",
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # nothing is written, so nobody's git waits for a lock of ours
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # older than the line above, and wins over what is configured
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--ignore-submodules=all",
           "--untracked-files=normal")  # fmt: skip


class _LateError(Exception):
    """Git took too long."""


def git_state(working_dir: str, timeout_s: float) -> GitState | None:
    """What git says of a directory now.

    Args:
        working_dir: absolute path.
        timeout_s: for all that git is asked; 0 asks nothing.

    Returns:
        None outside of a repository, without git, or where git refuses to look (a repository of another user).
    """
    program = shutil.which("git", path=clean_environment(os.environ)["PATH"])
    if timeout_s <= 0 or program is None or not os.path.isabs(program) or not _is_inside(Path(working_dir)):  # noqa: PTH117 - a name from PATH
        return None
    git = _Git(program, working_dir, time.monotonic() + timeout_s)
    try:
        head = git.ask("symbolic-ref", "-q", "HEAD")
        commit = git.ask("rev-parse", "-q", "--verify", "HEAD")
        if head is None and commit is None:
            return None
    except (_LateError, OSError, ValueError):
        return None
    branch = (head or b"").decode("utf-8", "replace").strip().removeprefix("refs/heads/")[:BRANCH_CHARS]
    state = GitState(branch=branch, commit=(commit or b"").decode("ascii", "replace").strip()[:COMMIT_DIGITS])
    try:
        filters = git.filters_off()
        printed = None if filters is None else git.ask(*_STATUS, more=filters)
    except (_LateError, OSError, ValueError):
        return state
    return state if printed is None else _counted(state, printed)


def _is_inside(folder: Path) -> bool:
    """Whether a folder or one above it looks like a work tree; git is asked only then."""
    return any((one / ".git").exists() for one in (folder, *folder.parents))


def _counted(state: GitState, printed: bytes) -> GitState:
    kinds = [record[:1] for record in printed.split(b"\0")[:-1]]
    changed = sum(kind in (b"1", b"2", b"u") for kind in kinds)
    more = len(printed) >= MOST_BYTES
    return GitState(state.branch, state.commit, changed, kinds.count(b"?"), more)


class _Git:
    """Runs git in one directory until one moment.

    Args:
        program: absolute path of git.
        folder: the directory.
        until_s: of the monotonic clock.
    """

    def __init__(self, program: str, folder: str, until_s: float) -> None:
        self._program = program
        self._folder = folder
        self._until_s = until_s

    def filters_off(self) -> list[str] | None:
        """Settings that take every configured filter out of use; None where one has a name that cannot be given."""
        printed = self.ask("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$")
        keys = {key.decode("utf-8").rpartition(".")[0] for key in (printed or b"").split(b"\0") if key}
        if len(keys) > MOST_FILTERS or any("=" in key or "\n" in key for key in keys):
            return None
        return [f"{key}.{name}" for key in sorted(keys) for name in ("clean=", "process=", "required=false")]

    def ask(self, *words: str, more: Iterable[str] = ()) -> bytes | None:
        """What one command prints, up to MOST_BYTES; None where it fails.

        Raises:
            _LateError: it took too long, and was killed.
            OSError, ValueError: it could not be started.
        """
        configured = [word for setting in (*_SAFE, *more) for word in ("-c", setting)]
        process = start(
            [self._program, "--no-pager", *configured, "-C", self._folder, *words],
            cwd="/",
            env=clean_environment(os.environ) | _ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            printed = self._read(process)
            if len(printed) >= MOST_BYTES:
                return printed
            return printed if process.wait(max(0.0, self._until_s - time.monotonic())) == 0 else None
        except subprocess.TimeoutExpired:
            raise _LateError from None
        finally:
            if process.returncode is None:
                kill_group(process.pid)
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def _read(self, process: subprocess.Popen[bytes]) -> bytes:
        if process.stdout is None:
            raise AssertionError("git was started with a pipe")
        printed, pipe = bytearray(), process.stdout.fileno()
        with selectors.DefaultSelector() as waiting:
            waiting.register(pipe, selectors.EVENT_READ)
            while len(printed) < MOST_BYTES:
                if not waiting.select(max(0.0, self._until_s - time.monotonic())):
                    raise _LateError
                piece = os.read(pipe, 65_536)
                if not piece:
                    break
                printed += piece
        return bytes(printed)
