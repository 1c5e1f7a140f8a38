"""What surrounds a call of the model that a relay may hold: what it holds is let go when what came of it is stored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from neuraphage.decide.hashing import call_id
from neuraphage.errors import CancelRequested
from neuraphage.model.effect import SUMMARY_ENTRY, EffectState, ModelEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


def begun_call(work: UnitOfWork) -> ModelEffect | None:
    """The call that this turn is at: for a summary, while that is not over, else for the reply."""
    summary = work.summary_effect
    is_over = summary is None or summary.state is EffectState.COMPLETED
    return work.model_effect if is_over else summary


@contextmanager
def relayed(services: Services, work: UnitOfWork, entry: ModelEffect) -> Iterator[str]:
    """Make one announced call and note its outcome inside of this; gives the id that names it for a relay.

    What ends the block otherwise ends the reading alone: the call goes on, and a later lease attaches to it. Only a
    cancelled task has it ended.
    """
    call = call_id(entry.request_id or "", entry.attempt)
    try:
        yield call
    except BaseException as ended:
        services.relay.leave(call)
        if isinstance(ended, CancelRequested):
            services.relay.cancel(call)
        raise
    finally:
        work.held.detachable = False
    work.when_written(lambda: services.relay.stored(call))


def attached(work: UnitOfWork, before: ModelEffect) -> ModelEffect:
    """Commit that this lease goes on with a call that a former one had sent; returns the entry as it is now."""
    entry = before.model_copy(update={"fence": work.held.lease.fence})
    data = {"request_id": entry.request_id, "attempt": entry.attempt, "fence": entry.fence}
    if entry.key == SUMMARY_ENTRY:
        data |= {"purpose": "summary", "model": entry.model or ""}
    work.note(journal=[entry], events=[Event(kind=EventKind.REQUEST_ATTACHED, data=data)])
    work.begin_effect()
    return entry
