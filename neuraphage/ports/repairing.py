"""The stored form itself, below every view of a task: for `doctor` and `repair`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from neuraphage.model.repairing import RepairMode, RepairResult


class StoredForm(Protocol):
    """What is stored of all tasks: their records, and the indexes that follow from them."""

    def check_access(self) -> bool:
        """See that this user may run every command.

        Returns:
            Whether all of them could be asked for.

        Raises:
            AccessRefused: it may not; the message names the command and the key.
            DamagedKey: a key of the namespace has another type than it should.
            StoreUnavailable, StoreError: the server does not answer.
        """
        ...

    def survey(self, mode: RepairMode, batch: int, parts: Sequence[str] = ()) -> Iterator[list[RepairResult]]:
        """Look at the keys of the whole namespace, then at tasks, a batch at a time.

        Args:
            mode: what may be changed.
            batch: keys read at once.
            parts: of the ids of the tasks, each unique; all tasks when none is given.

        Raises:
            TaskNotFound: a part fits no task, nor anything that a task has left.
            BadInput: several tasks fit one of them.
            StoreUnavailable, StoreError: those before were looked at; repeating it is safe.
        """
        ...

    def last_sweep_ms(self) -> int:
        """When the last sweep began, server time. Raises: see `check_access`."""
        ...

    def now_ms(self) -> int:
        """Server time. Raises: see `check_access`."""
        ...
