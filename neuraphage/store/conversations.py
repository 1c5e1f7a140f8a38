"""Conversations that this process knows already, so that a claim reads only what is new.

A known conversation is bound to the claim id and token of the write that this process saw confirmed last. The record
keeps the latest claims with the numbers of their last writes (`trail`, claiming.lua). Claim ids are random, and record
and list change together: where the record's history has that write, no tail with it was lost, and the list once was
exactly the known entries. Since then it was only added to, whoever wrote, unless the task was reset, which is counted.
The claim script tells what stood there before it; anything else means reading the whole list again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

MAX_BYTES = 32 * 1024 * 1024
"""Stored bytes kept a process; the parsed values take a few times as much."""


@dataclass(slots=True)
class KnownConversation:
    """One conversation.

    Args:
        claim_id, token: of the last confirmed write.
        entries: in order, as read from the store; only ever added to, by `Conversations`.
        size_bytes: as JSON.
        memo: what turns have made of the entries; it lives as long as they are known.
        resets: how often the task had begun anew.
    """

    claim_id: str
    token: int
    entries: list[dict[str, Any]]
    size_bytes: int
    memo: dict[str, Any] = field(default_factory=dict)
    resets: int = 0


class Conversations:
    """The known conversations of one process; the least used ones go first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._known: OrderedDict[str, KnownConversation] = OrderedDict()
        self._total_bytes = 0
        self._lock = threading.Lock()

    def take(self, task_id: str) -> KnownConversation | None:
        """Hand one out and forget it; the claim that follows puts it back if it was right."""
        with self._lock:
            known = self._known.pop(task_id, None)
            if known is not None:
                self._total_bytes -= known.size_bytes
            return known

    def put(self, task_id: str, known: KnownConversation) -> None:
        """Keep one, unless it alone is over the limit."""
        with self._lock:
            before = self._known.pop(task_id, None)
            self._total_bytes -= before.size_bytes if before else 0
            self._known[task_id] = known
            self._total_bytes += known.size_bytes
            self._drop_oldest()

    def advance(
        self, task_id: str, claim_id: str, token: int, added: Iterable[dict[str, Any]], added_bytes: int
    ) -> None:
        """A write after (claim id, token) was confirmed; without its predecessor nothing is known any more.

        Args:
            task_id: the task.
            claim_id: of the write.
            token: of the write before it.
            added: entries that it appended, as they read back.
            added_bytes: their size as JSON.
        """
        with self._lock:
            known = self._known.get(task_id)
            if known is None:
                return
            if known.claim_id != claim_id or known.token != token:
                del self._known[task_id]
                self._total_bytes -= known.size_bytes
                return
            known.token += 1
            known.entries.extend(added)
            known.size_bytes += added_bytes
            self._total_bytes += added_bytes
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        while self._total_bytes > self._max_bytes:
            _, gone = self._known.popitem(last=False)
            self._total_bytes -= gone.size_bytes
