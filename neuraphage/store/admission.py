"""How many tasks may be at work, as the scripts know it (slots.lua), and who begins by that."""

from __future__ import annotations

from neuraphage.ports import NextTurn
from neuraphage.store.context import StoreContext
from neuraphage.store.edges import woken_of
from neuraphage.store.scripts import script

NOBODY = "task-00000000-0000-0000-0000-000000000000"
"""A script about many tasks is given the keys of this one, which is none, and makes theirs of them."""


def adjust(context: StoreContext) -> tuple[NextTurn, ...]:
    """Have the settings' limits of tasks at work hold, and give free slots to those in line.

    Returns:
        Messages of those that begin; at most a hundred at once, so that no script holds the server up.

    Raises:
        StoreUnavailable, StoreError: the server did not do it; repeating it is safe.
    """
    settings = context.settings
    given = {
        "rules": context.slot_rules,
        "events_max": settings.events_max,
        "republish_ms": int(settings.first_republish_s * 1000),
    }
    reply = script("adjust").run(context, given, task_id=NOBODY)
    return woken_of(reply[2:])
