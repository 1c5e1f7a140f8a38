"""The file that a person was asked about: kept in the journal from the asking on, as evidence of the call."""

from __future__ import annotations

from typing import Any

from neuraphage.model.effect import JournalEntry
from neuraphage.model.tool import FileSight, ToolCall
from neuraphage.ports import ToolContext
from neuraphage.tools.freshness import present_state
from neuraphage.tools.paths import file_of_call

_KEY = "approved_file"


def to_be_approved(call: ToolCall, context: ToolContext) -> dict[str, Any] | None:
    """Evidence for a call that is about to be asked about: its file as it is now; None for a call without one."""
    path = file_of_call(call)
    state = None if path is None else present_state(path, context)
    return None if state is None else as_evidence(state)


def as_evidence(state: FileSight | None) -> dict[str, Any]:
    """The part of a call's evidence that keeps the file; empty when nobody was asked."""
    return {} if state is None else {_KEY: state.model_dump(mode="json")}


def approved_file(entry: JournalEntry | None) -> FileSight | None:
    """The file as it was when a person was asked about the call; None when nobody was."""
    state = (entry.evidence or {}).get(_KEY) if entry else None
    return None if state is None else FileSight.model_validate(state)
