"""What a turn writes of another model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuraphage.model.model_choice import ModelChoice


@dataclass(frozen=True, slots=True)
class ModelChange:
    """Other models than those with which a turn began.

    Args:
        before: as the record had it; what a person has set meanwhile stays.
        after: from the next request on.
        told: what the history says of it, beside the model: by, reason.
    """

    before: ModelChoice | None
    after: ModelChoice
    told: Mapping[str, Any]
