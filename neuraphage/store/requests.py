"""What people ask for, as one object: the two writes and the read that a request takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuraphage.model.task import TaskRecord, TaskSpec
from neuraphage.store.context import StoreContext
from neuraphage.store.queries import get

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuraphage.model.attachment import Attachment
    from neuraphage.ports import Clock, Created, Signal, Signalled


class RedisRequests:
    """Implements ports.TaskStore for processes that take no turns; `RedisStore` has all that workers write, too.

    Args:
        context: of the store.
        clock: local time.
    """

    def __init__(self, context: StoreContext, clock: Clock) -> None:
        self._context = context
        self._clock = clock

    def create(self, spec: TaskSpec, key: str, attachments: Sequence[Attachment] = ()) -> Created:
        """See signals.create."""
        from neuraphage.store.signals import create  # noqa: PLC0415 - most commands only read

        return create(self._context, spec, key, attachments)

    def signal(self, task_id: str, sent: Signal) -> Signalled:
        """See signals.signal."""
        from neuraphage.store.signals import signal  # noqa: PLC0415 - as above

        return signal(self._context, task_id, sent, self._clock.wall_ms())

    def get(self, task_id: str) -> TaskRecord:
        """See queries.get."""
        return get(self._context, task_id)

    def set_pool(self, name: str, limit_microusd: int | None) -> None:
        """See ledger.set_pool."""
        from neuraphage.store.ledger import set_pool  # noqa: PLC0415 - as above

        set_pool(self._context, name, limit_microusd)
