"""About how many tokens values have, without asking anybody. Pure.

The provider's own count of the last request is worth more; this is for what came since, and for what nobody counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

BYTES_A_TOKEN = 3
"""Text in English has about four; code, numbers and other scripts have fewer. To guess too high is the safe side."""
_NODE_BYTES = 6
"""Of a name, a number, and of the signs around a value."""


def size_bytes(value: Any) -> int:
    """About the bytes of a value as JSON."""
    if isinstance(value, str):
        return len(value) + 2 if value.isascii() else len(value.encode("utf-8", "replace")) + 2
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - plain dicts are told at once
        if "tokens" in value and "sha256" in value:  # an image or a document, which has tokens by its own rule
            return int(value["tokens"]) * BYTES_A_TOKEN
        return sum(size_bytes(name) + size_bytes(part) for name, part in value.items()) + 2
    if isinstance(value, Sequence):
        return sum(map(size_bytes, value)) + 2
    return _NODE_BYTES


def tokens_of(value: Any) -> int:
    """About the tokens of blocks, messages or tool definitions; rather too many than too few."""
    return -(-size_bytes(value) // BYTES_A_TOKEN)
