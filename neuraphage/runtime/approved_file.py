"""The file that a call is about to ask for, as it is now; `decide.approved_file` says how the journal keeps it."""

from __future__ import annotations

from typing import Any

from neuraphage.decide.approved_file import approved_file, as_evidence
from neuraphage.model.tool import ToolCall
from neuraphage.ports import ToolContext
from neuraphage.tools.freshness import present_state
from neuraphage.tools.paths import file_of_call

__all__ = ["approved_file", "as_evidence", "to_be_approved"]


def to_be_approved(call: ToolCall, context: ToolContext) -> dict[str, Any] | None:
    """Evidence for a call that is about to be asked about: its file as it is now; None for a call without one."""
    path = file_of_call(call)
    state = None if path is None else present_state(path, context)
    return None if state is None else as_evidence(state)
