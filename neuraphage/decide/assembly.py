"""The messages of a conversation that grows: what was put together once is not put together again."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from neuraphage.decide.attachments import held
from neuraphage.decide.conversation import begins_with, call_ids, merged_from, paired, with_ends

Entries = Sequence[Mapping[str, Any]]


class Assembly:
    """What was assembled of one conversation, as far as nothing that is added can change it.

    It answers for any entries. It spares work where they begin with the very entry objects that it has seen, as they do
    while one process takes turn after turn of a task; else it begins anew.
    """

    def __init__(self) -> None:
        self._plain = False
        self._count = 0
        self._last: Mapping[str, Any] | None = None
        self._messages: list[dict[str, Any]] = []
        self._calls: set[str] = set()
        self._calls_to = 0
        self._calls_last: Mapping[str, Any] | None = None
        self._media: dict[str, str] = {}
        self._media_to = 0
        self._media_last: Mapping[str, Any] | None = None

    def request_messages(self, entries: Entries, *, plain: bool = False) -> list[dict[str, Any]]:
        """As conversation.request_messages. The messages are not to be changed."""
        if plain != self._plain or not begins_with(entries, self._count, self._last):
            self._plain, self._count, self._last, self._messages = plain, 0, None, []
        added = entries[self._count :]
        if any(map(_reaches_back, added)):
            self._count, self._last, self._messages, added = 0, None, [], entries
        merged, starts = merged_from(added, plain=plain)
        if not merged:
            return with_ends(paired(list(self._messages), []))
        # the last message may grow, and what comes before it is what its neighbours made of it
        self._messages = paired(self._messages, merged[:-1], is_end=False)
        self._count += starts[-1]
        self._last = entries[self._count - 1]
        return with_ends(paired(list(self._messages), merged[-1:]))

    def call_ids(self, entries: Entries) -> Container[str]:
        """As conversation.call_ids, to ask whether an id is there; good until the next question."""
        if not begins_with(entries, self._calls_to, self._calls_last):
            self._calls, self._calls_to = set(), 0
        self._calls.update(call_ids(entries[self._calls_to :]))
        self._calls_to, self._calls_last = len(entries), entries[-1] if entries else None
        return self._calls

    def held(self, entries: Entries) -> Mapping[str, str]:
        """As attachments.held; good until the next question."""
        if not begins_with(entries, self._media_to, self._media_last):
            self._media, self._media_to = {}, 0
        self._media.update(held(entries[self._media_to :]))
        self._media_to, self._media_last = len(entries), entries[-1] if entries else None
        return self._media


def _reaches_back(entry: Mapping[str, Any]) -> bool:
    """Whether an entry changes what is sent of entries before it."""
    return entry.get("supersedes") is not None or entry.get("compaction") is not None
