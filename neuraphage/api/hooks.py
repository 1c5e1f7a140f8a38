"""Events that observers failed on, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuraphage.api.base import ApiBase
from neuraphage.errors import BadInput
from neuraphage.inside_command import refuse_inside_command

if TYPE_CHECKING:
    from neuraphage.model.observed import PutBy
    from neuraphage.ports import ObserverStore


class Hooks(ApiBase):
    """What became of observers (docs/hooks.md)."""

    def failed_hooks(self) -> Sequence[PutBy]:
        """Events that observers failed on and that are tried again, or wait for `retry_hooks`.

        Raises:
            CorruptRecord: what is stored of one cannot be read.
            StoreUnavailable, StoreError: the state server did not answer.
        """
        return self._stored().put_by()

    def retry_hooks(self, name: str | None = None) -> int:
        """Have observers tried again on events that they failed on, from the first try.

        Args:
            name: of an observer, or of one event as `failed_hooks` has it (`OBSERVER@EVENT`); None for all whose tries
                are used up.

        Returns:
            How many there are.

        Raises:
            BadInput: there is none of this name, or a command of a task asks for it.
            StoreUnavailable, StoreError: it is not known which are tried again; repeat it.
        """
        refuse_inside_command("retrying hooks", self._ports.calling_task)
        store = self._stored()
        rows = store.put_by()
        wanted = [row for row in rows if (row.due_ms is None if name is None else name in {row.observer, row.name})]
        if name is not None and not wanted:
            raise BadInput(f"no observer failed on {name!r}; `neuraphage hooks failed` lists what there is")
        return sum(store.again(row) for row in wanted if row.kind)  # one of no kind tells of a gap: nothing can be told

    def _stored(self) -> ObserverStore:
        if self._ports.observers is None:
            raise BadInput("nothing is known of observers here")
        return self._ports.observers()
