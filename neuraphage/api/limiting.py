"""Requests that may carry limits: retry, reset, limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuraphage.api.models import Models
from neuraphage.decide.limits import limit_change

if TYPE_CHECKING:
    from datetime import timedelta

    from neuraphage.ports import Signalled


class Limiting(Models):
    """What changes the limits of a task; see `Tasks` for what all requests take, return and raise."""

    def retry(
        self,
        task_id: str,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        max_running_for: float | timedelta | None = None,
        key: str | None = None,
    ) -> Signalled:
        """Go on with a failed task from its last step.

        Args:
            max_turns: limit of turns from now on; None leaves it as it is.
            max_cost_usd: limit of money of the whole task, dollars; None leaves it as it is.
            max_running_for: limit of the time that workers have it, seconds or a length; None leaves it as it is.

        Raises:
            IllegalMove: the task has not failed, or a repeat cannot help it.
            LimitReached: it would fail at once; nothing was changed. Give a higher limit.
            BadInput: a limit is out of its range. Else see the class.
        """
        return self._service.retry(
            self.find(task_id), key, limit_change(max_turns, max_cost_usd, max_running_for=max_running_for)
        )

    def reset(
        self,
        task_id: str,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        max_running_for: float | timedelta | None = None,
        key: str | None = None,
    ) -> Signalled:
        """Start a failed task anew; its conversation is archived. Turns count anew, its cost counts on.

        Args:
            max_turns: limit of turns from now on; None leaves it as it is.
            max_cost_usd: limit of money of the whole task, dollars; None leaves it as it is.
            max_running_for: limit of the time that workers have it, seconds or a length; None leaves it as it is.

        Raises:
            IllegalMove: the task has not failed.
            LimitReached: it would fail at once; nothing was changed. Give a higher limit.
            BadInput: a limit is out of its range. Else see the class.
        """
        return self._service.reset(
            self.find(task_id), key, limit_change(max_turns, max_cost_usd, max_running_for=max_running_for)
        )

    def limit(
        self,
        task_id: str,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        max_tree_turns: int | None = None,
        max_running_for: float | timedelta | None = None,
        key: str | None = None,
    ) -> Signalled:
        """Set the limits of a task, from its next model call on. One that has failed at a limit still needs `retry`.

        Args:
            max_turns: limit of turns; None leaves it as it is.
            max_cost_usd: limit of money of the whole task, dollars; None leaves it as it is.
            max_running_for: limit of the time that workers have it, seconds or a length; None leaves it as it is.
            max_tree_turns: limit of turns of the task with all that is below it; None leaves it as it is.

        Raises:
            IllegalMove: the task was cancelled.
            BadInput: no limit is given, or one is out of its range. Else see the class.
        """
        return self._service.limit(
            self.find(task_id), limit_change(max_turns, max_cost_usd, max_tree_turns, max_running_for), key
        )
