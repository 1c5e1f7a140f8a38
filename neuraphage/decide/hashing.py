"""Hashes of values: SHA-256 of canonical JSON, and the ids derived from them."""

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


def call_name(tool_use_id: str, resets: int) -> str:
    """Name of one tool call of a task; a task that began anew may meet the same id again, for another call."""
    return f"{tool_use_id}@{resets}" if resets else tool_use_id


def effect_id(task_id: str, call: str, params: Any) -> str:
    """Name of one tool call to the outside world: hash of task, call and parameters, 32 hex characters."""
    return sha256_hex([task_id, call, params])[:32]


def prompt_id(task_id: str, iteration: int, call: str, purpose: str) -> str:
    """Id of a prompt; the same for the same call, so announcing again opens no second prompt."""
    return sha256_hex([task_id, iteration, call, purpose])[:16]


def conversation_prompt_id(task_id: str, iteration: int) -> str:
    """Id of the prompt of a conversational task that waits for the next message."""
    return prompt_id(task_id, iteration, "", "conversation")


def call_id(request: str, attempt: int) -> str:
    """Id of one call of a request, the same for every process: by it a relay knows the call.

    Args:
        request: id of the request.
        attempt: which call of it.
    """
    return sha256_hex([request, attempt])[:32]


def request_id(task_id: str, seq: int) -> str:
    """Id of a model request. The step at which the task was claimed makes it unique; a repeat keeps it."""
    return "req-" + sha256_hex([task_id, seq])[:24]


def summary_request_id(task_id: str, seq: int, number: int) -> str:
    """Id of the request for a summary; `number` counts the compactions that the conversation has had before."""
    return "req-" + sha256_hex([task_id, seq, "summary", number])[:24]
