"""Which notices of prompts are due, and the telling of one: the mark before it, the mark behind it.

The mark `telling` is taken before somebody is told, so of any number of workers one tells. It expires soon: where its
worker died in between, another one tells again. The mark `told` stays for as long as the prompt is open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neuraphage.decide.prompt_notice import events_due, next_look_ms, notice
from neuraphage.errors import NeuraphageError, StoreUnavailable
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord
from neuraphage.ports import NoticeMark, NoticeStore

HOLD_MS = 60_000
"""Longer than a notice takes, so that nobody tells what another one is about to tell."""
KEEP_MS = 48 * 3_600_000
"""How long it is known that a notice was told; prolonged while the prompt is open."""
PROLONG_MS = 12 * 3_600_000
GRACE_MS = 3_000
"""So long a prompt's notice is left to the worker that opened it."""
MOST_WAITING = 10_000
"""Tasks that wait for a person of which a look takes notice, those of late first."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DueNotice:
    """A notice to be told.

    Args:
        record: of the task that asks.
        prompt: what it asks.
        event: why it is told.
        may_be_closed: whether the prompt may have been settled since it was read.
    """

    record: TaskRecord
    prompt: Prompt
    event: str
    may_be_closed: bool = False


class NoticeDesk:
    """Decides and marks; who tells it in which thread is the caller's affair.

    Args:
        store: the marks, and who waits.
        tell: tells a notice outside, and returns when that is done or has failed for good.
        wait_s: tell again after so long if the prompt is still open; None for not.
        grace_ms, hold_ms: see GRACE_MS, HOLD_MS.
    """

    def __init__(
        self,
        store: NoticeStore,
        tell: Callable[[dict[str, Any]], None],
        wait_s: float | None,
        *,
        grace_ms: int = GRACE_MS,
        hold_ms: int = HOLD_MS,
    ) -> None:
        self._store = store
        self._tell = tell
        self._wait_ms = None if wait_s is None else int(wait_s * 1000)
        self._grace_ms = grace_ms
        self._hold_ms = hold_ms
        self._next_ms: dict[tuple[str, int], int] = {}
        """By task and since when it waits: when it has to be looked at again."""

    def due(self) -> list[DueNotice]:
        """Notices that are due, and of which no mark stands.

        Raises:
            StoreUnavailable, StoreError: the server is away; the next look goes on.
        """
        now_ms, found = self._store.now_ms(), []
        waiting = self._store.waiting_tasks(MOST_WAITING)
        self._next_ms = {key: self._next_ms[key] for key in waiting if key in self._next_ms}
        for key in waiting:
            if self._next_ms.get(key, 0) <= now_ms:
                try:
                    found += self._due_of(key, now_ms)
                except StoreUnavailable:
                    raise
                except NeuraphageError:  # gone, or its record cannot be read, which others tell
                    self._next_ms[key] = now_ms + self._hold_ms
        return found

    def _due_of(self, key: tuple[str, int], now_ms: int) -> list[DueNotice]:
        record = self._store.get(key[0])
        wanted = [
            (prompt, event)
            for prompt in record.prompts
            for event in events_due(prompt, now_ms, self._grace_ms, self._wait_ms)
        ]
        marks = self._store.notice_marks(record.task_id, [(prompt.prompt_id, event) for prompt, event in wanted])
        found = []
        for (prompt, event), mark in zip(wanted, marks, strict=True):
            if mark is NoticeMark.NONE:
                found.append(DueNotice(record, prompt, event, may_be_closed=True))
            elif mark is NoticeMark.TOLD:
                self._store.end_notice(record.task_id, prompt.prompt_id, event, KEEP_MS)
        settled = all(mark is NoticeMark.TOLD for mark in marks)
        later_ms = min(
            [next_look_ms(prompt, now_ms, self._grace_ms, self._wait_ms) for prompt in record.prompts], default=now_ms
        )
        self._next_ms[key] = min(later_ms, now_ms + PROLONG_MS) if settled else 0
        return found

    def tell(self, due: DueNotice) -> None:
        """Tell a notice, unless somebody else does or did.

        Raises:
            StoreUnavailable, StoreError: the server is away, and nobody was told; or it is not noted that somebody was.
        """
        task_id, prompt = due.record.task_id, due.prompt
        if due.may_be_closed and prompt not in self._store.get(task_id).prompts:
            return
        if self._store.begin_notice(task_id, prompt.prompt_id, due.event, self._hold_ms) is not NoticeMark.NONE:
            return
        self._tell(notice(due.record, prompt, due.event))
        self._store.end_notice(task_id, prompt.prompt_id, due.event, KEEP_MS)
