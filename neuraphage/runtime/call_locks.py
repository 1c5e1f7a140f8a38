"""The locks of calls: what a call needs, and the end of a turn whose call has to wait for it."""

from __future__ import annotations

from neuraphage.decide.lock_needs import lock_needs
from neuraphage.model.effect import ToolEffect
from neuraphage.model.lock import LockNeed
from neuraphage.model.tool import ToolCall, ToolDeclaration
from neuraphage.ports import LockRequest, Redaction, Settled
from neuraphage.runtime.call_places import call_places
from neuraphage.runtime.noted import Noted


class Blocked(Exception):
    """Another task has what the call needs that was to be announced: the turn is over, and no fault.

    Args:
        settled: where the task stands now.
    """

    def __init__(self, settled: Settled) -> None:
        super().__init__(settled.status)
        self.settled = settled


def ask_for_locks(
    work: Noted, redaction: Redaction, call: ToolCall, declaration: ToolDeclaration, before: ToolEffect | None
) -> None:
    """Note what a call needs that is announced next; nothing where nobody can meet it.

    Args:
        work: of the turn, with the marker as it is before the announcement.
        redaction: a name of a file may hold a secret, and a lock is shown to everybody.
        call: the call.
        declaration: of its tool.
        before: its entry in the journal, before the announcement.
    """
    working_dir = work.record.spec.working_dir  # without one there are no files
    needs = () if working_dir is None else lock_needs(declaration, call.params, call_places(working_dir))
    clean = {redaction.text(need.resource): need for need in needs}
    named = tuple(LockNeed(resource=name, mode=need.mode) for name, need in sorted(clean.items()))
    work.ask_for(LockRequest(call.tool_use_id, named, before, work.marker) if named else None)
