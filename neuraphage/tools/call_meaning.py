"""Names what a call of a tool means, so that a change of it under a running task is seen."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from neuraphage.model.effect import EffectClass


def fingerprint(effect: EffectClass, schema: Mapping[str, Any]) -> str:
    """Names what a call means, by its effect and its parameters; words for the model may change."""
    plain = orjson.dumps([effect.value, _without_words(schema)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(plain).hexdigest()[:12]


def _without_words(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_words(item) for item in node]
    if not isinstance(node, dict):
        return node
    words = {
        key for key in ("description", "title") if isinstance(node.get(key), str)
    }  # a parameter of that name is no str
    return {key: _without_words(value) for key, value in node.items() if key not in words}
