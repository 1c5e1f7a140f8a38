"""The file that a person was asked about: kept in the journal from the asking on, as evidence of the call."""

from __future__ import annotations

from typing import Any

from neuraphage.model.effect import JournalEntry
from neuraphage.model.tool import FileSight, ToolCall
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.ports import ToolContext
from neuraphage.tools.freshness import present_state

_KEY = "approved_file"


def to_be_approved(call: ToolCall, traits: ToolTraits, context: ToolContext) -> dict[str, Any] | None:
    """Evidence for a call that is about to be asked about: its file as it is now; None for a call without one."""
    path = call.params.get(traits.change.path) if traits.change is not None else None
    state = present_state(path, context) if isinstance(path, str) else None
    return None if state is None else as_evidence(state)


def as_evidence(state: FileSight | None) -> dict[str, Any]:
    """The part of a call's evidence that keeps the file; empty when nobody was asked."""
    return {} if state is None else {_KEY: state.model_dump(mode="json")}


def approved_file(entry: JournalEntry | None) -> FileSight | None:
    """The file as it was when a person was asked about the call; None when nobody was."""
    state = (entry.evidence or {}).get(_KEY) if entry else None
    return None if state is None else FileSight.model_validate(state)
