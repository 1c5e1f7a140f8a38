"""The Python client: submit tasks, follow them, answer them, from any process that reaches the state server.

from neuraphage.client import Client

with Client() as client:
    task_id = client.submit("make the failing tests pass", working_dir="/path/to/project")
    record = client.wait(task_id)
    print(record.detail)
"""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

from pydantic import ValidationError

from neuraphage.configuration import load
from neuraphage.errors import BadInput, CorruptRecord, TaskNotFound
from neuraphage.model.effect import JournalEntry
from neuraphage.model.prompt import Event
from neuraphage.model.recovery import RecoveryReport
from neuraphage.model.task import TERMINAL, Limits, Mode, OnUnknownOutcome, Status, TaskRecord, TaskSpec
from neuraphage.ports import Delta, Signalled
from neuraphage.queue import CeleryDispatcher, make_app
from neuraphage.runtime.service import TaskService
from neuraphage.settings import Settings
from neuraphage.store import live, reading, reports
from neuraphage.wiring import build_store, new_task_id, redactor

POLL_BLOCK_MS = 1_000
"""One blocking read of events; well under the socket timeout."""


class Client:
    """A client of one namespace. Thread-safe; use it as a context manager.

    Args:
        settings: where the servers are; from the environment and the files of settings when not given.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or load()
        self._app = make_app(self.settings)
        self._store = build_store(self.settings)
        self._dispatcher = CeleryDispatcher(self._app)
        self._service = TaskService(self._store, self._dispatcher, redactor(), lambda: secrets.token_hex(8))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._app.close()
        self._store.context.client.close()

    # --- requests ---

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
            StoreUnavailable, StoreError: nothing was stored.
        """
        if not prompt.strip():
            raise BadInput("the prompt is empty; write what the task should do")
        if not math.isfinite(max_cost_usd or 0):
            raise BadInput(f"max_cost_usd is {max_cost_usd}; give a number of dollars")
        settings = self.settings
        cost = settings.max_cost_microusd if max_cost_usd is None else round(max_cost_usd * 1_000_000)
        try:
            spec = TaskSpec(
                task_id=new_task_id(),
                name=name or _one_line(prompt),
                prompt=prompt,
                model=model or settings.default_model,
                max_tokens=settings.max_tokens,
                working_dir=working_dir,
                system=system,
                allow=tuple(allow),
                mode=mode,
                on_unknown_outcome=on_unknown_outcome,
                limits=Limits(max_turns=settings.max_turns if max_turns is None else max_turns, max_cost_microusd=cost),
                priority=priority,
                tags=tuple(tags),
                permission_timeout_s=permission_timeout_s,
                created_at_ms=self._store.clock.wall_ms(),
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise BadInput(f"{'.'.join(str(p) for p in first['loc'])}: {first['msg']}") from None
        return self._service.submit(spec, key)

    def send(self, task_id: str, text: str, *, key: str | None = None) -> Signalled:
        """Send a message to the model. Raises: see TaskService.send."""
        return self._service.send(self.find(task_id), text, key)

    def answer(self, task_id: str, text: str, *, prompt_id: str | None = None, key: str | None = None) -> Signalled:
        """Answer an open prompt. Raises: see TaskService.answer."""
        return self._service.answer(self.find(task_id), prompt_id, text, key)

    def pause(self, task_id: str, *, key: str | None = None) -> Signalled:
        """Stop after the step in hand. Raises: see TaskService.pause."""
        return self._service.pause(self.find(task_id), key)

    def resume(self, task_id: str, *, key: str | None = None) -> Signalled:
        """Go on with a paused task. Raises: see TaskService.resume."""
        return self._service.resume(self.find(task_id), key)

    def cancel(self, task_id: str, *, reason: str = "", key: str | None = None) -> Signalled:
        """End a task. Raises: see TaskService.cancel."""
        return self._service.cancel(self.find(task_id), reason, key)

    def retry(self, task_id: str, *, key: str | None = None) -> Signalled:
        """Go on with a failed task. Raises: see TaskService.retry."""
        return self._service.retry(self.find(task_id), key)

    def reset(self, task_id: str, *, key: str | None = None) -> Signalled:
        """Start a failed task anew; its conversation is archived. Raises: see TaskService.reset."""
        return self._service.reset(self.find(task_id), key)

    def wake(self, task_id: str) -> bool:
        """Send the wake-up message of a task that waits for a worker again; False when it does not wait for one."""
        record = self.get(task_id)
        if record.place != "outbox":
            return False
        return self._dispatcher.publish_turn(
            record.task_id, record.counters.iteration, record.seq, record.marker.name.value
        )

    # --- reads ---

    def find(self, prefix: str) -> str:
        """The full id of the one task that fits.

        Raises:
            TaskNotFound, BadInput: none or several fit.
        """
        return reading.find(self._store.context, prefix) if len(prefix) < FULL_ID_CHARS else prefix

    def get(self, task_id: str) -> TaskRecord:
        """One task.

        Raises:
            TaskNotFound, CorruptRecord, StoreUnavailable: see the message.
        """
        return self._store.get(self.find(task_id))

    def list(self, *statuses: Status, limit: int = 100) -> Sequence[TaskRecord]:
        """Tasks by status (all when none is named), newest first; unreadable ones are skipped (R40)."""
        found = []
        for task_id in reading.task_ids(self._store.context, statuses or tuple(Status), limit):
            with contextlib.suppress(TaskNotFound, CorruptRecord):
                found.append(self._store.get(task_id))
        return found

    def conversation(self, task_id: str, *, first: int = 0) -> Sequence[dict[str, Any]]:
        """The stored conversation from entry number `first` on, oldest first. Raises: TaskNotFound."""
        return reading.conversation(self._store.context, self._existing(task_id), first)

    def journal(self, task_id: str) -> dict[str, JournalEntry]:
        """The journal of the present turn. Raises: TaskNotFound."""
        return reading.journal(self._store.context, self._existing(task_id))

    def decisions(self, task_id: str) -> Sequence[dict[str, Any]]:
        """Recovery decisions about the task, with their readings. Raises: TaskNotFound."""
        return reading.decisions(self._store.context, self._existing(task_id))

    def counts(self) -> dict[str, int]:
        """Tasks by status, and members of the four places."""
        return reading.counts(self._store.context)

    def recovery_report(self) -> RecoveryReport | None:
        """The newest recovery report that is not empty."""
        return reports.last_report(self._store.context)

    def events(self, task_id: str, *, after: str = "0", follow: bool = False) -> Iterator[Event]:
        """History lines after an event id, oldest first.

        Args:
            task_id: the task.
            after: resume after this event id.
            follow: go on until the task is over; blocks between events.
        """
        full_id = self._existing(task_id)
        while True:
            over = follow and self._store.get(full_id).status in TERMINAL
            block_ms = POLL_BLOCK_MS if follow and not over else None
            lines = reading.events(self._store.context, full_id, after=after, block_ms=block_ms)
            for line in lines:
                after = line.event_id or after
                yield line
            if not lines and (not follow or over):
                return

    def follow(self, task_id: str, *, after: str = "0", poll_s: float = 0.05) -> Iterator[Event | Delta | TaskRecord]:
        """The task as it goes: history lines and pieces of the streaming reply, in order.

        After each round the present record is yielded, so that the caller decides when to stop; it ends by
        itself when the task is over.

        Args:
            task_id: the task.
            after: resume after this event id; pieces that are older are left out too.
            poll_s: seconds between two rounds.
        """
        full_id = self.find(task_id)
        seen_event, seen_delta, watched_s = after, after, 0.0  # one server clock numbers both
        while True:
            if time.monotonic() - watched_s > self.settings.live_ttl_s / 3:
                live.watch(self._store.context, full_id)
                watched_s = time.monotonic()
            record = self._store.get(full_id)
            found = live.snapshot(self._store.context, full_id, seen_event, seen_delta)
            for stream_id, item in found:
                is_event = isinstance(item, Event)
                seen_event, seen_delta = (stream_id, seen_delta) if is_event else (seen_event, stream_id)
                yield item
            yield record
            if record.status in TERMINAL and not found:
                return
            time.sleep(poll_s)

    def wait(self, task_id: str, *, timeout_s: float | None = None, until: Iterable[Status] = TERMINAL) -> TaskRecord:
        """Wait until the task is over (or in one of the statuses given).

        Raises:
            TimeoutError: it was not within the timeout.
        """
        full_id, wanted = self.find(task_id), frozenset(until)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        after = "0"
        while True:
            record = self._store.get(full_id)
            if record.status in wanted:
                return record
            left_ms = POLL_BLOCK_MS if deadline is None else int((deadline - time.monotonic()) * 1000)
            if left_ms <= 0:
                raise TimeoutError(f"{full_id} is still {record.status} after {timeout_s} s")
            block_ms = max(1, min(POLL_BLOCK_MS, left_ms))
            lines = reading.events(self._store.context, full_id, after=after, block_ms=block_ms)
            after = lines[-1].event_id or after if lines else after

    def _existing(self, task_id: str) -> str:
        """The full id of a task that exists; also of one whose record cannot be read, so that it can be looked into."""
        full_id = self.find(task_id)
        with contextlib.suppress(CorruptRecord):
            self._store.get(full_id)
        return full_id


FULL_ID_CHARS = len("task-") + 36


def _one_line(prompt: str) -> str:
    words = " ".join(prompt.split())
    return (words[:77] + "...") if len(words) > 80 else words or "task"
