"""The spool: commands that outlive the worker which started them (implements ports.Spool).

Every entry is decided exactly once, by whoever first links the file `decision`: a runner for `started`, anyone
for `sealed`. Everything here may therefore be repeated, raced or cut short at any point.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from neuraphage.errors import BadInput, CancelRequested, SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.ports import Interrupt, SpoolCommand, SpoolStatus
from neuraphage.private_files import private_folder
from neuraphage.redaction.ends import Redact
from neuraphage.spool import identity, records, retention
from neuraphage.spool.commands import pack, write_command
from neuraphage.spool.entry import Entry
from neuraphage.spool.launch import RUNNER, launch
from neuraphage.spool.output import without_cut_end
from neuraphage.spool.processes import GRACE_S, KILL_LIMIT_S
from neuraphage.spool.refusal import not_begun, refused

_EFFECT_ID = re.compile(r"[0-9a-f]{16,64}")
_START_LIMIT_S = 60.0
"""A start takes a tenth of a second of processor; one that hangs is not a busy machine any more."""
_CANCEL_LIMIT_S = GRACE_S + KILL_LIMIT_S + 10.0
_UNREAD_LIMIT_S = 10.0
_FIRST_POLL_S = 0.005
_LAST_POLL_S = 0.05


class CommandSpool:
    """Commands in processes of their own, on this host.

    Safe to use from many threads and processes at once. The folder must be on a local disk.

    Args:
        root: folder of the entries; made with mode 0700.
        max_output_bytes: a command that writes more is ended.
        runner_path: the program that runs a command.
        quota_bytes: no new command starts while the folder holds more; None for no quota.
        redact: takes secrets out of an output before it is shortened; None takes nothing out.
        expiring: delete what else is kept for so long (seconds), beside the entries.

    Raises:
        SpoolError: the folder cannot be made or made private.
    """

    def __init__(
        self,
        root: Path,
        max_output_bytes: int,
        runner_path: Path = RUNNER,
        quota_bytes: int | None = None,
        redact: Redact | None = None,
        expiring: Sequence[Callable[[float], int]] = (),
    ) -> None:
        self._root = root.absolute()
        self._max_output_bytes = max_output_bytes
        self._runner_path = runner_path
        self._quota = None if quota_bytes is None else retention.Quota(self._root, quota_bytes)
        self._redact = redact
        self._expiring = expiring
        self._over: set[str] = set()
        try:
            private_folder(self._root)
        except OSError as error:
            raise SpoolError(refused("make the spool folder", self._root, error)) from error
        retention.empty_trash(self._root)

    # --- ports.Spool -----------------------------------------------------------------------------------------

    @property
    def identity(self) -> str:
        """Random name of this folder: a new folder has a new one, and folders of other hosts have others.

        Raises:
            SpoolError: the folder cannot be written or read.
        """
        return identity.of_folder(self._root)  # not remembered: the folder may have been deleted and made anew

    def start(self, command: SpoolCommand) -> DetachedState:
        """Start it, unless it was started or sealed before. Returns once that is decided and on the disk.

        Returns:
            RUNNING when this call started it; else the state of the existing entry, never ABSENT.

        Raises:
            BadInput: the command itself cannot be run as given.
            ConfinementFailed: what its command line was to make around it could not be made.
            SpoolError: this call did not start it: no space, the quota, no permission, no process, or no decision
                in 60 s (it is then sealed).
        """
        entry = self._entry(command.effect_id)
        order = pack(command, entry.path, self._max_output_bytes)
        if self._quota is not None and not entry.is_decided():
            self._quota.check()
        self._make(entry)
        deadline_s = time.monotonic() + _START_LIMIT_S
        if not entry.is_decided():
            self._write_command(entry, command)
        while not entry.is_decided():
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return self._give_up(command.effect_id)
            answer = self._launch(order, left_s)
            if answer == records.STARTED:
                return DetachedState.RUNNING
            if answer == records.BUSY:
                time.sleep(_FIRST_POLL_S)  # the other runner is about to decide
            elif time.monotonic() < deadline_s and not entry.is_decided():
                raise not_begun(entry.path, answer)
        return entry.state()

    def look(self, effect_id: str, output_limit_chars: int) -> SpoolStatus:
        """Tell what is known of it, without changing anything.

        ABSENT also stands for an entry that nobody has decided about yet; `seal` settles it.
        """
        entry = self._entry(effect_id)
        state = entry.state()
        if state is DetachedState.LOST:
            return SpoolStatus(state, output=entry.output(output_limit_chars, self._redact))
        facts = entry.exit_facts() if state is DetachedState.DONE else None
        if facts is None:
            return SpoolStatus(DetachedState.ABSENT if state is DetachedState.DONE else state)  # deleted meanwhile
        output = entry.output(output_limit_chars, self._redact)
        cut_off = self._redact is not None and facts.reason == "output_limit"
        return entry.status(facts, without_cut_end(output) if cut_off else output)

    def seal(self, effect_id: str) -> DetachedState:
        """Forbid a command that has not started from ever starting.

        Returns:
            SEALED when it had not started; else the state it was found in.

        Raises:
            SpoolError: the seal could not be written.
        """
        entry = self._entry(effect_id)
        self._make(entry)
        try:
            with entry.opened() as directory:
                records.decide(directory, records.SEALED)
        except OSError as error:
            raise SpoolError(refused("seal the entry", entry.path, error)) from error
        return entry.state()

    def wait(self, effect_id: str, output_limit_chars: int, interrupt: Interrupt) -> SpoolStatus:
        """Wait until it ends. An entry that is not running is told of at once.

        Raises:
            CancelRequested: after the command and everything below it were ended.
            LeaseLost: at once; the command goes on.
            SpoolError: it could not be read for some seconds; one failed look does not give up a running command.
        """
        pause_s = _FIRST_POLL_S
        read_s = time.monotonic()
        while True:
            try:
                status = self.look(effect_id, output_limit_chars)
                if status.state is not DetachedState.RUNNING:
                    return status
                read_s = time.monotonic()
            except SpoolError:
                if time.monotonic() - read_s > _UNREAD_LIMIT_S:
                    raise
            try:
                interrupt.check()
            except CancelRequested:
                self.cancel(effect_id)
                raise
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LAST_POLL_S)

    def cancel(self, effect_id: str) -> DetachedState:
        """End a running command and everything below it, and wait until all are gone.

        One that has not started is sealed: after this call nothing of it runs, now or later.

        Raises:
            SpoolError: it could not be ended in time; the message says where to look.
        """
        state = self._ask_to_end(effect_id, records.CANCEL)
        entry = self._entry(effect_id)
        deadline_s = time.monotonic() + _CANCEL_LIMIT_S
        pause_s = _FIRST_POLL_S
        while entry.is_alive():
            if time.monotonic() > deadline_s:
                raise SpoolError(
                    f"the command in {entry.path} was asked to end {_CANCEL_LIMIT_S:.0f} s ago and still lives;"
                    f" its processes are named in {entry.path / records.ALIVE}"
                )
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LAST_POLL_S)
        return entry.state() if state is DetachedState.RUNNING else state

    # --- for the host's watcher and for retention --------------------------------------------------------------

    def revoke(self, effect_id: str) -> DetachedState:
        """As cancel, with reason lease_moved and without waiting: the task's lease has moved to another host.

        Returns:
            RUNNING when the command will now be ended; else the state it was found in.
        """
        return self._ask_to_end(effect_id, records.REVOKED)

    def running(self) -> list[tuple[str, str]]:
        """Commands that run now, as (effect id, task id); the task id is empty when it cannot be read."""
        entries = list(self._entries())
        self._over &= {entry.path.name for entry in entries}  # forget what was deleted
        found = []
        for entry in entries:
            if entry.path.name in self._over:
                continue  # an entry that is over never runs again, so it is read only once
            try:
                state = entry.state()
            except SpoolError:
                continue  # the others are still to be seen to
            if state is DetachedState.RUNNING:
                found.append((entry.path.name, entry.task_id()))
            elif state is not DetachedState.ABSENT:
                self._over.add(entry.path.name)
        return found

    def expire(self, older_than_s: float) -> int:
        """Delete entries that are over and at least this old (seconds); returns how many."""
        for expire in self._expiring:
            expire(older_than_s)
        return retention.expire(self._entries(), older_than_s)

    def total_bytes(self) -> int:
        """Size of all files in the spool, in bytes."""
        return retention.total_bytes(self._root)

    # --- steps of the above ------------------------------------------------------------------------------------

    def _entry(self, effect_id: str) -> Entry:
        if not _EFFECT_ID.fullmatch(effect_id):
            raise BadInput(f"effect id {effect_id[:80]!r} is not 16 to 64 lower-case hexadecimal digits")
        return Entry(self._root / effect_id)

    def _entries(self) -> Iterator[Entry]:
        try:
            paths = list(self._root.iterdir())
        except FileNotFoundError:
            return iter(())
        except OSError as error:
            raise SpoolError(refused("list the spool folder", self._root, error)) from error
        return (Entry(path) for path in paths if _EFFECT_ID.fullmatch(path.name))

    def _make(self, entry: Entry) -> None:
        """Make the entry's directory, durably: a power cut must not make a started command look absent."""
        try:
            private_folder(entry.path)
            root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(root)
            finally:
                os.close(root)
        except OSError as error:
            raise SpoolError(refused("make the spool entry", entry.path, error)) from error

    def _write_command(self, entry: Entry, command: SpoolCommand) -> None:
        try:
            with entry.opened() as directory:
                write_command(directory, command)
        except OSError as error:
            raise SpoolError(refused("write the command to", entry.path, error)) from error

    def _launch(self, order: bytes, timeout_s: float) -> str:
        return launch(self._runner_path, order, timeout_s)

    def _give_up(self, effect_id: str) -> DetachedState:
        state = self.seal(effect_id)
        if state is DetachedState.SEALED:
            raise SpoolError(
                f"the command {effect_id} did not start in {_START_LIMIT_S:.0f} s; it was sealed, so it never will."
                " The host may be overloaded: look at its load and memory"
            )
        return state

    def _ask_to_end(self, effect_id: str, name: str) -> DetachedState:
        state = self.seal(effect_id)
        if state is DetachedState.RUNNING:
            try:
                self._entry(effect_id).ask(name)
            except OSError as error:
                raise SpoolError(refused(f"write {name} to", self._root / effect_id, error)) from error
        return state
