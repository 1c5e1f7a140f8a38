"""The slow pass of the sweep: a few keys at each sweep, so that damage is seen within minutes and costs nothing.

Where it stands is kept on the server: sweeps run now in one process, now in another.
"""

from __future__ import annotations

from neuraphage.model.repairing import RepairMode
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.repair import damaged_indexes, survey_step

FIELD = "audit"
"""Of the hash `sweep`: where the next step begins."""


def audit(context: StoreContext) -> list[tuple[str, str]]:
    """Look at the next `audit_keys` keys; tasks of an earlier release are added to the index of all ids.

    Returns:
        (task id or key, what is wrong with it); `neuraphage repair` puts it right.
    """
    batch = context.settings.audit_keys
    if not batch:
        return []
    with translated("read where the audit stands"):
        step = (context.client.hget(context.keys.sweep, FIELD) or b"").decode(errors="replace")
    looked = [] if step else damaged_indexes(context, RepairMode.LOOK)
    if not looked:
        looked, step = survey_step(context, RepairMode.LIST, batch, step)
        with translated("note where the audit stands"):
            context.client.hset(context.keys.sweep, FIELD, step)
    return [(row.name, text) for row in looked for text in row.findings]
