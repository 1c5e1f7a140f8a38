"""What a turn has noted of its task: seen by its next decision at once, stored with its next write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from neuraphage.model.effect import JournalEntry, Marker
from neuraphage.model.event import Event
from neuraphage.model.message import Entry
from neuraphage.model.prompt import InboxItem, Prompt
from neuraphage.ports import ChildChanges, Claimed, LockRequest, ModelChange
from neuraphage.runtime.pending import Pending


class Noted:
    """The values of a claimed task, with all that was noted since.

    Args:
        claimed: what claim read; must be GRANTED.
    """

    def __init__(self, claimed: Claimed) -> None:
        if claimed.record is None:
            raise ValueError(f"claim answered {claimed.verdict}, there is nothing to work on")
        self.record = claimed.record
        self.entries: list[Mapping[str, Any]] = list(claimed.entries)
        self.journal: dict[str, JournalEntry] = dict(claimed.journal)
        self.inbox: list[tuple[bytes, InboxItem]] = list(claimed.inbox)
        self.marker = claimed.record.marker
        self.prompts: dict[str, Prompt] = {p.prompt_id: p for p in claimed.record.prompts}
        self.grants: dict[str, str] = dict(claimed.record.grants)
        self._pending = Pending()
        self._when_written: list[Callable[[], None]] = []

    def note(
        self,
        *,
        entries: Iterable[Entry] = (),
        journal: Iterable[JournalEntry] = (),
        marker: Marker | None = None,
        add: Mapping[str, int] | None = None,
        outcome: bool = False,
        events: Iterable[Event] = (),
        model: ModelChange | None = None,
        on: str = "",
        reserve_microusd: int | None = None,
    ) -> None:
        """Note changes; the working copy shows them at once, the next write stores them.

        Args:
            entries, journal, marker, outcome, events, model, reserve_microusd: see Changes.
            add: counters.
            on: id of the model that what they count was spent on.
        """
        pending = self._pending
        for one in entries:
            pending.entries.append(one)
            self.entries.append(one.model_dump(by_alias=True))
        for effect in journal:
            pending.journal[effect.key] = self.journal[effect.key] = effect
        pending.events.extend(events)
        pending.outcome |= outcome
        if marker is not None:
            self.marker = pending.marker = marker
        if reserve_microusd is not None:
            pending.reserve_microusd = reserve_microusd
        if model is not None:
            pending.model = model
            self.record = self.record.model_copy(update={"model": model.after})
        if add:
            pending.count(add, on)
            counters = self.record.counters
            grown = {name: getattr(counters, name) + amount for name, amount in add.items()}
            self.record = self.record.model_copy(update={"counters": counters.model_copy(update=grown)})

    def open_prompts(self, prompts: Iterable[Prompt]) -> None:
        """Note prompts to be asked."""
        opened = tuple(prompts)
        self._pending.prompts_opened.extend(opened)
        self.prompts.update({prompt.prompt_id: prompt for prompt in opened})

    def close_prompt(self, prompt_id: str) -> None:
        """Note that a prompt is settled."""
        self._pending.prompts_closed.append(prompt_id)
        self.prompts.pop(prompt_id, None)

    def consume(self, raw: bytes) -> None:
        """Note that an inbox item is used up."""
        self._pending.consumed.append(raw)
        self.inbox = [row for row in self.inbox if row[0] != raw]

    def ask_for(self, locks: LockRequest | None) -> None:
        """Note what the call that is announced next is to hold."""
        self._pending.locks = locks

    def change_children(self, more: ChildChanges) -> None:
        """Note what the next write does about children."""
        noted = self._pending.children
        both = ChildChanges(noted.new + more.new, noted.awaited + more.awaited, noted.taken + more.taken)
        self._pending.children = both

    def remember_grant(self, tool: str, permission: str) -> None:
        """Note an answer that holds for every later call of the tool."""
        self._pending.grants[tool] = permission
        self.grants[tool] = permission

    def when_written(self, told: Callable[[], None]) -> None:
        """Have something told when what is noted by now is stored; never, if it is not."""
        self._when_written.append(told)
