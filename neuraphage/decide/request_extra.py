"""Further fields of a request, which people set: what they may hold, and for which model they are meant. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from neuraphage.decide.model_ids import split_model
from neuraphage.decide.tool_input import InputFault, check_input
from neuraphage.errors import BadInput
from neuraphage.model.task import TaskRecord

OURS = frozenset({"model", "messages", "tools", "system", "stream", "max_tokens", "max_completion_tokens", "n"})
"""What a request says by itself, or what its cost depends on."""
MAX_CHARS = 10_000


def check_extra(value: Any) -> dict[str, Any]:
    """Further fields as they may be stored and sent.

    Args:
        value: an object, or the JSON text of one.

    Raises:
        BadInput: it is none, is too long, or names a field that neuraphage sets itself.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value) if len(value) <= MAX_CHARS else None
        except (ValueError, RecursionError):
            value = None
    found = check_input(dict(value) if isinstance(value, Mapping) else value)
    if isinstance(found, InputFault):
        raise BadInput(f'write a JSON object of at most {MAX_CHARS:,} characters, as {{"temperature": 0.2}}')
    if len(json.dumps(found)) > MAX_CHARS:
        raise BadInput(f"its JSON is longer than {MAX_CHARS:,} characters")
    taken = sorted(OURS & found.keys())
    if taken:
        raise BadInput(f"{', '.join(taken)} is set by neuraphage itself; leave it out")
    return found


def extra_for(record: TaskRecord) -> dict[str, Any]:
    """The further fields of a task's next request: those of its spec, while its model is one of the same provider.

    Another API has other fields, and refuses those that it does not know.
    """
    asked, called = split_model(record.spec.model), split_model(record.choice.model)
    return dict(record.spec.extra) if asked.provider is called.provider else {}
