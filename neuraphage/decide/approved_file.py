"""The file that a person was asked about: kept in the journal from the asking on, as evidence of the call. Pure."""

from __future__ import annotations

from typing import Any

from neuraphage.model.effect import ToolEffect
from neuraphage.model.tool import FileSight

_KEY = "approved_file"


def as_evidence(state: FileSight | None) -> dict[str, Any]:
    """The part of a call's evidence that keeps the file; empty when nobody was asked."""
    return {} if state is None else {_KEY: state.model_dump(mode="json")}


def approved_file(entry: ToolEffect | None) -> FileSight | None:
    """The file as it was when a person was asked about the call; None when nobody was."""
    state = (entry.evidence or {}).get(_KEY) if entry else None
    return None if state is None else FileSight.model_validate(state)
