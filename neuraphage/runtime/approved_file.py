"""The file that a call is about to ask for, as it is now; `decide.approved_file` says how the journal keeps it."""

from __future__ import annotations

from typing import Any

from neuraphage.decide.approved_file import approved_file, as_evidence
from neuraphage.model.tool import ToolCall
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.ports import ToolContext
from neuraphage.tools.freshness import present_state

__all__ = ["approved_file", "as_evidence", "to_be_approved"]


def to_be_approved(call: ToolCall, traits: ToolTraits, context: ToolContext) -> dict[str, Any] | None:
    """Evidence for a call that is about to be asked about: its file as it is now; None for a call without one."""
    path = call.params.get(traits.change.path) if traits.change is not None else None
    state = present_state(path, context) if isinstance(path, str) else None
    return None if state is None else as_evidence(state)
