"""Hashes of values: SHA-256 of canonical JSON (requirement R35), and the ids derived from them."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no spaces; equal values give equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def sha256_hex(value: Any) -> str:
    """SHA-256 of the canonical JSON, 64 hex characters."""
    return hashlib.sha256(canonical(value)).hexdigest()


def effect_id(task_id: str, tool_use_id: str, params: Any) -> str:
    """Name of one tool call to the outside world: hash of task, tool_use id and parameters, 32 hex characters."""
    return sha256_hex([task_id, tool_use_id, params])[:32]


def prompt_id(task_id: str, iteration: int, tool_use_id: str, purpose: str) -> str:
    """Id of a prompt; the same for the same call, so announcing again opens no second prompt."""
    return sha256_hex([task_id, iteration, tool_use_id, purpose])[:16]


def conversation_prompt_id(task_id: str, iteration: int) -> str:
    """Id of the prompt of a conversational task that waits for the next message (see prelude.lua)."""
    return sha256_hex([task_id, iteration])[:16] + ":conversation"


def request_id(task_id: str, iteration: int, fence: int) -> str:
    """Id of a model request. The fence of its first sending makes it unique; a repeat keeps it."""
    return "req-" + sha256_hex([task_id, iteration, fence])[:24]
