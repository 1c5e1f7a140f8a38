"""What code of ours relies on in a library, asked of the installed version by signature and by the names in a body."""

from __future__ import annotations

import inspect
from types import CodeType
from typing import Any


def names_in(code: CodeType) -> set[str]:
    """Names that a function's body uses."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(names_in, inner))


def method(owner: Any, name: str, *parameters: str) -> bool:
    """Whether a class has a method that takes these parameters, in this order."""
    found = [one for one in inspect.signature(getattr(owner, name)).parameters if one in parameters]
    return found == list(parameters)


def sets(function: Any, *names: str) -> bool:
    """Whether a function still speaks of these names."""
    return set(names) <= names_in(inspect.unwrap(function).__code__)


def takes(owner: Any, *words: str) -> bool:
    """Whether a class, by itself or through its bases, is made with these keywords."""
    known = {name for one in owner.__mro__ if "__init__" in vars(one) for name in inspect.signature(one).parameters}
    return set(words) <= known
