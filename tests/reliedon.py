"""What code of ours relies on in a library, asked of the installed version by signature and by the names in a body."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from importlib.metadata import version
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


PACKAGES = {"celery": "celery", "kombu": "kombu", "flower": "flower", "tornado": "tornado", "hiredis": "hiredis"} | {
    "redis-py": "redis"
}
"""Packages by what docstrings call them, in small letters."""


def read_against(said: str) -> dict[str, str]:
    """The versions of a docstring's `Read against`, by package; KeyError for a library that is none of these."""
    (line,) = re.findall(r"^Read against: (.*)\.$", said, re.MULTILINE)
    pairs = (one.split(" ") for one in line.split(", "))
    return {PACKAGES[library.lower()]: read for library, read in pairs}


def tell_unread(name: str, said: str) -> None:
    """Warn of newer libraries. What is relied on is what fails: else each release of theirs would break all tests."""
    for package in unread(said):
        warnings.warn(f"{name} was read against an older {package}: read it again, and say so in it", stacklevel=2)


def unread(said: str, installed: Callable[[str], str] = version) -> list[str]:
    """Installed packages that are newer than what a docstring was read against; older ones are tried by tests."""
    return [package for package, read in read_against(said).items() if _numbers(installed(package)) > _numbers(read)]


def _numbers(of: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", of)[:3]))
