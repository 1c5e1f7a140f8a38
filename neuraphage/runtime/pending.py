"""Changes that are noted one after the other and written together."""

from __future__ import annotations

from dataclasses import replace

from neuraphage.ports import Changes


def together(noted: Changes, more: Changes) -> Changes:
    """What was noted before, with what a turn has noted since: an entry of the journal replaces the one of its key.

    Args:
        noted: from before.
        more: entries, journal, marker, counters, outcome, events and model; it has nothing else.
    """
    totals = dict(noted.add)
    for name, amount in more.add.items():
        totals[name] = totals.get(name, 0) + amount
    latest = {entry.key: entry for entry in (*noted.journal, *more.journal)}
    return replace(
        noted,
        entries=noted.entries + more.entries,
        journal=tuple(latest.values()),
        marker=more.marker or noted.marker,
        add=totals,
        outcome=noted.outcome or more.outcome,
        events=noted.events + more.events,
        model=more.model or noted.model,
    )
