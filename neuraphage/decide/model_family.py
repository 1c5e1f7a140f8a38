"""Which models share their limits. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

_VERSION = re.compile(r"v?\d+(\.\d+)*(:\d+)?")
"""A part of a model's id that tells releases of one family apart."""


@lru_cache(maxsize=256)
def model_family(model: str) -> str:
    """The models that share their limits: the id without versions and dates, `claude-sonnet` of `claude-sonnet-5-5`.

    Args:
        model: its id.
    """
    parts = re.split(r"[-@]", model)
    kept = [part for part in parts if not _VERSION.fullmatch(part)]
    return "-".join(kept) or model


def gate_of(key_pool: str, model: str) -> str:
    """The name under which workers tell each other of a model.

    Args:
        key_pool: of the key that it is called with; no key.
        model: its id.
    """
    return f"{key_pool}:{model_family(model)}"
