"""One entry of the spool, as an observer sees it. Reading never changes an entry and never trips over a torn one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.ports import SpoolStatus
from neuraphage.redaction.ends import Redact
from neuraphage.spool import records
from neuraphage.spool.output import read_output

COMMAND = "command.json"
"""What was ordered, without the environment (it may hold secrets): for people, and for `running`."""


class ExitFacts(BaseModel):
    """How a command ended, as `exit.json` tells it (records.ExitRecord writes it).

    Args:
        exit_code: exit status, or minus the signal number; None when the command could not be killed.
        reason: exited, timeout, cancelled, output_limit, memory_limit or lease_moved.
        detail: more for people, or empty.
        started_at, ended_at: Unix seconds.
        duration_s: how long it ran.
        left_behind: processes that were still there when the command had ended, and were ended too.
        survivors: processes that could not be ended.
    """

    exit_code: int | None
    reason: str
    detail: str = ""
    started_at: float
    ended_at: float
    duration_s: float
    left_behind: int = 0
    survivors: int = 0


class Entry:
    """The directory of one effect id.

    Args:
        path: the directory; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def opened(self) -> Iterator[int]:
        """The open directory.

        Raises:
            FileNotFoundError: there is no entry.
            SpoolError: it cannot be read.
        """
        try:
            directory = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SpoolError(_unreadable(self.path, error)) from error
        try:
            yield directory
        finally:
            os.close(directory)

    def state(self) -> DetachedState:
        """Where the entry stands.

        ABSENT covers every entry that nobody has decided about, also one whose runner is just about to:
        only `seal` (or `start`) settles what becomes of it.

        Raises:
            SpoolError: the entry cannot be read.
        """
        try:
            with self._read() as directory:
                return self._state(directory)
        except FileNotFoundError:
            return DetachedState.ABSENT

    @contextmanager
    def _read(self) -> Iterator[int]:
        """As `opened`, for looks only: whatever cannot be read is a SpoolError."""
        try:
            with self.opened() as directory:
                yield directory
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SpoolError(_unreadable(self.path, error)) from error

    def _state(self, directory: int) -> DetachedState:
        if self.exit_facts() is not None:
            return DetachedState.DONE
        decision = records.read_decision(directory)
        if decision is None:
            return DetachedState.ABSENT
        if decision == records.SEALED:
            return DetachedState.SEALED
        if records.is_alive(directory):
            return DetachedState.RUNNING
        # it may have written its record between the two looks above
        return DetachedState.LOST if self.exit_facts() is None else DetachedState.DONE

    def is_decided(self) -> bool:
        """Whether the command was started or sealed."""
        try:
            with self._read() as directory:
                return records.read_decision(directory) is not None
        except FileNotFoundError:
            return False

    def is_alive(self) -> bool:
        """Whether the command's process, or one of its two guardians, may live."""
        try:
            with self._read() as directory:
                return records.is_alive(directory)
        except FileNotFoundError:
            return False

    def guardians(self) -> tuple[int, ...]:
        """Process ids of the runner and the keeper of a command; empty when they have not told."""
        return tuple(int(word) for word in self._told() if word.isascii() and word.isdigit())

    def since_start_s(self) -> float | None:
        """Seconds since the command was started, by a clock that nobody sets; None when it was not in this boot."""
        boot, _, now_s = records.moment().partition("@")
        then_s = next((word.partition("@")[2] for word in self._told() if word.startswith(f"{boot}@")), "")
        return float(now_s) - float(then_s) if then_s.isdigit() else None

    def _told(self) -> list[str]:
        """What the runner has told of itself."""
        try:
            return (self.path / records.ALIVE).read_text(encoding="utf-8", errors="replace").split()
        except OSError:
            return []

    def exit_facts(self) -> ExitFacts | None:
        """How it ended; None when that was not written, or not whole (a power cut).

        Raises:
            SpoolError: it cannot be read.
        """
        try:
            return ExitFacts.model_validate_json((self.path / records.EXIT).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        except OSError as error:
            raise SpoolError(_unreadable(self.path, error)) from error

    def output(self, limit_chars: int, redact: Redact | None = None) -> str:
        """What it wrote, shortened; before that redacted if `redact` is given.

        Raises:
            SpoolError: it cannot be read.
        """
        try:
            return read_output(self.path / records.OUTPUT, limit_chars, redact)
        except OSError as error:
            raise SpoolError(_unreadable(self.path, error)) from error

    def status(self, facts: ExitFacts, output: str) -> SpoolStatus:
        """What is known of a command that has ended with these facts and this output."""
        if facts.detail:
            output += f"\n[{facts.detail}]"
        timeout_s = self._ordered("timeout_s")
        return SpoolStatus(
            DetachedState.DONE,
            facts.exit_code,
            facts.reason,
            output,
            facts.duration_s,
            facts.left_behind,
            timeout_s if isinstance(timeout_s, int | float) else None,
            self._output_bytes(),
        )

    def _output_bytes(self) -> int:
        try:
            return (self.path / records.OUTPUT).stat().st_size
        except OSError:
            return 0

    def task_id(self) -> str:
        """The task that ordered it; empty when that cannot be read."""
        task_id = self._ordered("task_id")
        return task_id if isinstance(task_id, str) else ""

    def _ordered(self, name: str) -> Any:
        """A fact of the order; None when the note about it cannot be read."""
        try:
            ordered = orjson.loads((self.path / COMMAND).read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return None
        return ordered.get(name) if isinstance(ordered, dict) else None

    def ask(self, name: str) -> None:
        """Put the request file `name` (records.CANCEL or REVOKED) where the runner of a started command looks."""
        with suppress(FileExistsError):
            os.link(self.path / records.DECISION, self.path / name)  # a second name needs no room on a full disk


def _unreadable(path: Path, error: OSError) -> str:
    return (
        f"cannot read the spool entry {path}: {error.strerror}; check the owner and mode of the spool"
        " folder, and this process's limit of open files"
    )
