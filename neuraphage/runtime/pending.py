"""Changes that are noted one after the other and written together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from neuraphage.ports import Changes


def together(noted: Changes, more: Changes) -> Changes:
    """What was noted before, with what a turn has noted since: an entry of the journal replaces the one of its key.

    Args:
        noted: from before.
        more: entries, journal, marker, counters, outcome, events, model and money; it has nothing else.
    """
    latest = {entry.key: entry for entry in (*noted.journal, *more.journal)}
    return replace(
        noted,
        entries=noted.entries + more.entries,
        journal=tuple(latest.values()),
        marker=more.marker or noted.marker,
        add=_added(noted.add, more.add),
        outcome=noted.outcome or more.outcome,
        events=noted.events + more.events,
        model=more.model or noted.model,
        spent={
            name: _added(noted.spent.get(name, {}), more.spent.get(name, {})) for name in {**noted.spent, **more.spent}
        },
        reserve_microusd=noted.reserve_microusd if more.reserve_microusd is None else more.reserve_microusd,
    )


def _added(some: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return {name: some.get(name, 0) + more.get(name, 0) for name in {**some, **more}}
