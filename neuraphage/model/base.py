"""What every stored noun shares: frozen, strict about unknown fields, and readable as plain JSON."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 2
"""Version of every stored shape. Raised when a stored shape changes; older ones stay readable for ever."""


class Frozen(BaseModel):
    """An immutable value. Unknown fields are refused, so a misspelt or foreign record is seen at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")
