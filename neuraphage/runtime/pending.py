"""Changes that are noted one after the other and written together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import fields as fields_of

from neuraphage.model.effect import JournalEntry, Marker
from neuraphage.model.event import Event
from neuraphage.model.message import Entry
from neuraphage.model.prompt import Prompt
from neuraphage.ports import Changes, ChildChanges, LockRequest, ModelChange


@dataclass(slots=True)
class Pending:
    """What the next write is to hold; the fields are those of `Changes`, growing where those are fixed."""

    entries: list[Entry] = field(default_factory=list)
    journal: dict[str, JournalEntry] = field(default_factory=dict)
    marker: Marker | None = None
    add: dict[str, int] = field(default_factory=dict)
    outcome: bool = False
    consumed: list[bytes] = field(default_factory=list)
    prompts_opened: list[Prompt] = field(default_factory=list)
    prompts_closed: list[str] = field(default_factory=list)
    grants: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    model: ModelChange | None = None
    spent: dict[str, dict[str, int]] = field(default_factory=dict)
    reserve_microusd: int | None = None
    locks: LockRequest | None = None
    children: ChildChanges = field(default_factory=ChildChanges)

    def count(self, add: Mapping[str, int], on: str) -> None:
        """Counters to be raised, and the model that it was spent on; empty for none."""
        _raise(self.add, add)
        if on:
            _raise(self.spent.setdefault(on, {}), add)

    def changes(self) -> Changes:
        """All of it, as it is written."""
        return Changes(
            entries=tuple(self.entries),
            journal=tuple(self.journal.values()),
            marker=self.marker,
            add=self.add,
            outcome=self.outcome,
            consumed=tuple(self.consumed),
            prompts_opened=tuple(self.prompts_opened),
            prompts_closed=tuple(self.prompts_closed),
            grants=self.grants,
            events=tuple(self.events),
            model=self.model,
            spent=self.spent,
            reserve_microusd=self.reserve_microusd,
            locks=self.locks,
            children=self.children,
        )

    def copy(self) -> Pending:
        """The same, to grow apart from this one."""
        spent = {model: dict(add) for model, add in self.spent.items()}
        parts = {name: getattr(self, name) for name in _FIELDS}
        grown = {name: part.copy() for name, part in parts.items() if isinstance(part, list | dict)}
        return Pending(**{**parts, **grown, "spent": spent})

    def is_empty(self) -> bool:
        """Whether nothing is noted."""
        return self == Pending()


_FIELDS = tuple(one.name for one in fields_of(Pending))


def _raise(counters: dict[str, int], add: Mapping[str, int]) -> None:
    for name, amount in add.items():
        counters[name] = counters.get(name, 0) + amount
