"""What was spent, and the pools that bound it."""

from __future__ import annotations

from collections.abc import Sequence

from neuraphage.api.base import ApiBase
from neuraphage.decide.limits import limit_change
from neuraphage.decide.own_prices import read_label
from neuraphage.inside_command import refuse_inside_command
from neuraphage.model.money import By, CostReport, Pool, PoolState


class Money(ApiBase):
    """Reports of costs, and the limits of pools (docs/money.md)."""

    def cost(self, *, by: By = By.DAY, since: str | None = None) -> CostReport:
        """What was spent, by the ledger: deleted tasks included.

        Args:
            by: day, model, label or task.
            since: the first day: `2026-04-05` (UTC), or `1d` for today, `7d`, `2w`; None for all.

        Raises:
            BadInput: `since` is no day.
            CorruptRecord: a row of the ledger cannot be read.
            StoreUnavailable, StoreError: the state server did not answer.
        """
        from neuraphage.decide.costs import cost_report, first_day, task_report  # noqa: PLC0415 - few callers ask

        reads = self._ports.reads
        first = None if since is None else first_day(since, self._ports.clock.wall_ms())
        if By(by) is not By.TASK:
            return cost_report(reads.ledger(), By(by), first)
        records = list(reads.records())
        return task_report(reads.ledger(), records, first)

    def is_priced(self, model: str) -> bool:
        """Whether a price of a model is known here; workers ask by their own settings."""
        quote = self._ports.quote
        return quote is None or quote(model).known

    def pools(self) -> Sequence[PoolState]:
        """The pool of the day, and of each label of which anything is known, as they stand.

        Raises:
            StoreUnavailable, StoreError: the state server did not answer.
        """
        return self._ports.reads.pools()

    def set_pool(self, name: str, *, max_cost_usd: float | None) -> None:
        """Set the limit of a pool, for all workers, from the next call on. What it has paused still needs `resume`.

        Args:
            name: `day`, or a label: `team=web`.
            max_cost_usd: dollars, 0 to stop; None for that of the workers' settings again.

        Raises:
            BadInput: there is no such pool, the limit is out of its range, or a command of a task asks for it.
            StoreUnavailable, StoreError: it is not known whether it was stored; repeat it.
        """
        refuse_inside_command("the request", self._ports.calling_task)
        if name != Pool.DAY:
            read_label(name)
        limit = limit_change(None, max_cost_usd).max_cost_microusd
        self._ports.tasks.set_pool(name, limit)
