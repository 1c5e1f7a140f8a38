"""How a client submits and wakes tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from neuraphage.client.connections import Connections
from neuraphage.client_wiring import new_task_id
from neuraphage.errors import BadInput
from neuraphage.model.limits import Limits
from neuraphage.model.place import Place
from neuraphage.model.task import Mode, OnUnknownOutcome, TaskSpec
from neuraphage.store import reading


class TaskSubmitter(Connections):
    """New tasks. `TaskCommands` adds what changes a task.

    Args:
        settings: where the servers are; from the environment and the files of settings when not given.

    Raises:
        SettingsError: a setting is wrong, or a server's URL cannot be read.
    """

    def submit(  # noqa: PLR0913 - every field of a task is a keyword; nothing is positional but the prompt
        self,
        prompt: str,
        *,
        working_dir: str | None = None,
        name: str | None = None,
        model: str | None = None,
        allow: Iterable[str] = (),
        mode: Mode = Mode.AUTONOMOUS,
        on_unknown_outcome: OnUnknownOutcome = OnUnknownOutcome.TELL_MODEL,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        system: str = "",
        tags: Iterable[str] = (),
        priority: int = 2,
        permission_timeout_s: float | None = None,
        key: str | None = None,
    ) -> str:
        """Submit a task.

        Args:
            prompt: what to do.
            working_dir: directory the tools work in (an absolute path on the workers' machine).
            name: one line for lists; from the prompt when not given.
            model: model id.
            allow: tools that need no asking; `*` for all.
            mode: whether the model's end_turn completes the task or waits for the next message.
            on_unknown_outcome: what to do about an interrupted command whose outcome nothing knows.
            max_turns: limit of turns.
            max_cost_usd: limit of money, dollars.
            system: extra system prompt text.
            tags: free labels.
            priority: 0 (critical) to 4 (low).
            permission_timeout_s: seconds until an unanswered permission counts as denied.
            key: idempotency key; a repeat returns the first task's id.

        Returns:
            The task's id.

        Raises:
            BadInput: an argument is out of its range.
            StoreUnavailable, StoreError: it is not known whether it was stored; repeat it under the same `key`.
        """
        work = {"working_dir": working_dir, "model": model or self.settings.default_model, "system": system}
        line = name or _one_line(self._redaction.text(prompt))  # before the cut, which could halve a secret
        shown = {"name": line, "tags": tuple(tags), "priority": priority}
        asking = {"allow": tuple(allow), "mode": mode, "permission_timeout_s": permission_timeout_s}
        fields = {**work, **shown, **asking, "on_unknown_outcome": on_unknown_outcome}
        self._waker.made()  # a new task always needs it: nobody is to interrupt between the write and the message
        return self._service.submit(self._spec(prompt, max_turns, max_cost_usd, fields), key)

    def _spec(
        self, prompt: str, max_turns: int | None, max_cost_usd: float | None, fields: Mapping[str, Any]
    ) -> TaskSpec:
        """A new task as it is stored, within the limits of the settings unless others are given. See `submit`."""
        if not prompt.strip():
            raise BadInput("the prompt is empty; write what the task should do")
        if not math.isfinite(max_cost_usd or 0):
            raise BadInput(f"max_cost_usd is {max_cost_usd}; give a number of dollars")
        settings = self.settings
        cost = settings.max_cost_microusd if max_cost_usd is None else round(max_cost_usd * 1_000_000)
        try:
            return TaskSpec(
                task_id=new_task_id(),
                prompt=prompt,
                max_tokens=settings.max_tokens,
                limits=Limits(max_turns=settings.max_turns if max_turns is None else max_turns, max_cost_microusd=cost),
                created_at_ms=self._store.clock.wall_ms(),
                **fields,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise BadInput(f"{'.'.join(str(p) for p in first['loc'])}: {first['msg']}") from None

    def wake(self, task_id: str) -> bool:
        """Send the wake-up message of a task that waits for a worker again.

        Returns:
            Whether it waits for one and the broker took the message.

        Raises:
            TaskNotFound, BadInput, CorruptRecord, StoreUnavailable, StoreError: see `Client.get`.
        """
        record = reading.get(self._context, self.find(task_id))
        if record.place != Place.OUTBOX:
            return False
        return self._waker.publish_turn(record.task_id, record.counters.iteration, record.seq, record.marker.name.value)


def _one_line(prompt: str) -> str:
    words = " ".join(prompt.split())
    return (words[:77] + "...") if len(words) > 80 else words or "task"
