"""Reads the limits that workers keep as they were learned from a provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuraphage.errors import CorruptRecord
from neuraphage.model.capacity import ModelLimits
from neuraphage.store.encode import loads

Hash = Mapping[bytes, bytes] | Sequence[bytes]
"""As the server's answer is read: by RESP 3 a map, else its fields and values in turns."""


def kept_limits(stored: Hash, now_ms: int) -> dict[str, ModelLimits]:
    """The limits that are kept now, by gate; without what cannot be read, since it is advice.

    Args:
        stored: the hash.
        now_ms: server time.
    """
    return {gate: limits for gate, (limits, till_ms) in all_kept(stored).items() if till_ms > now_ms}


def all_kept(stored: Hash) -> dict[str, tuple[ModelLimits, int]]:
    """Limits with the times until which they are kept, by gate."""
    found: dict[str, tuple[ModelLimits, int]] = {}
    pairs = stored.items() if isinstance(stored, Mapping) else zip(stored[::2], stored[1::2], strict=True)
    for gate, raw in pairs:
        try:
            kept = loads(raw, "learned limits of a model")
            found[gate.decode()] = ModelLimits.model_validate(kept["limits"]), int(kept["till"])
        except (CorruptRecord, ValueError, TypeError, LookupError):
            continue
    return found
