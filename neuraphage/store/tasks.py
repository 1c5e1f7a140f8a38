"""The store as its users see it: one object with all writes and reads of one namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuraphage.model.task import TaskRecord, TaskSpec
from neuraphage.ports import (
    Changes,
    Claimed,
    Clock,
    Committed,
    Delta,
    FinishTo,
    Lease,
    Renewal,
    Settled,
    Signal,
    SuspendTo,
)
from neuraphage.settings import Settings
from neuraphage.store import claim, commit, leases, live, places, processes, reading, signals
from neuraphage.store.client import RedisClient, connect
from neuraphage.store.context import StoreContext
from neuraphage.store.keys import Keys


class RedisStore:
    """All state of one namespace. Every method is one script or one read, safe to repeat.

    Args:
        settings: limits and times.
        clock: local time.
        client: the state server; made from `settings.state_url` when not given.
    """

    def __init__(self, settings: Settings, clock: Clock, client: RedisClient | None = None) -> None:
        self.clock = clock
        self.context = StoreContext(
            client or connect(settings.state_url.get_secret_value()), Keys(settings.namespace), settings
        )

    # --- people ---

    def create(self, spec: TaskSpec, key: str) -> tuple[bool, str]:
        """See signals.create."""
        return signals.create(self.context, spec, key)

    def signal(self, task_id: str, sent: Signal) -> signals.Signalled:
        """See signals.signal."""
        return signals.signal(self.context, task_id, sent, self.clock.wall_ms())

    def get(self, task_id: str) -> TaskRecord:
        """See reading.get."""
        return reading.get(self.context, task_id)

    # --- turns ---

    def claim(self, task_id: str, seq: int, process_id: str, claim_id: str) -> Claimed:
        """See claim.claim."""
        return claim.claim(self.context, self.clock, task_id, seq, process_id, claim_id)

    def commit(self, lease: Lease, changes: Changes) -> Committed:
        """See commit.commit."""
        return commit.commit(self.context, self.clock, lease, changes)

    def suspend(
        self,
        lease: Lease,
        changes: Changes,
        to: SuspendTo,
        *,
        due_ms: int = 0,
        reason: str = "",
        detail: Mapping[str, Any] | None = None,
    ) -> Settled:
        """See commit.suspend."""
        return commit.suspend(self.context, lease, changes, to, due_ms=due_ms, reason=reason, detail=dict(detail or {}))

    def finish(
        self, lease: Lease, changes: Changes, to: FinishTo, iteration: int, detail: Mapping[str, Any]
    ) -> Settled:
        """See commit.finish."""
        return commit.finish(self.context, lease, changes, to, iteration, dict(detail))

    def renew(self, leases_held: Sequence[Lease]) -> tuple[float, list[Renewal]]:
        """See leases.renew."""
        return leases.renew(self.context, self.clock, leases_held)

    def publish_live(self, task_id: str, deltas: Iterable[Delta]) -> None:
        """See live.publish."""
        live.publish(self.context, task_id, deltas)

    # --- sweep and watcher ---

    def now_ms(self) -> int:
        """Server time, milliseconds."""
        return places.now_ms(self.context)

    def held_tasks(self, *, until_ms: int | None, limit: int) -> list[leases.HeldTask]:
        """See leases.held_tasks."""
        return leases.held_tasks(self.context, until_ms=until_ms, limit=limit)

    def recover(self, held: leases.HeldTask, evidence: str) -> leases.Recovered:
        """See leases.recover."""
        return leases.recover(self.context, held, evidence)

    def register(self, row: processes.ProcessRow) -> None:
        """See processes.register."""
        processes.register(self.context, row)
