"""When a turn goes on with another model: noted with its reason, which the history has."""

from __future__ import annotations

import logging

from neuraphage.decide.escalation import escalated
from neuraphage.model.model_choice import ModelChoice
from neuraphage.ports import ModelChange
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)


def escalate(services: Services, work: UnitOfWork) -> None:
    """Turns that fail one after the other lead to a stronger model, where the settings say so."""
    settings = services.settings
    found = escalated(work.record, work.entries, settings.tiers, settings.escalate_after)
    if found is not None:
        stronger, why = found
        work.note(model=changed(work, stronger, "failures", why))


def changed(work: UnitOfWork, following: ModelChoice, by: str, why: str) -> ModelChange:
    """What is noted of another model.

    Args:
        work: the turn.
        following: what is called from now on.
        by: `fallback` or `failures`.
        why: for people.
    """
    called = work.record.choice.model
    log.warning("%s: %s; calls %s", called, why, following.model, extra={"task": work.record.task_id})
    return ModelChange(work.record.model, following, {"by": by, "from": called, "reason": why})
