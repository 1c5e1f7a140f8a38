"""Objects of others' packages: those that entry points of a group name, and those that settings name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from typing import Any

from neuraphage.proc.foreign_code import foreign_code


def references(group: str, named: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Where objects are to be found, each once: those of packages by name, then those that are named.

    Args:
        group: of the entry points.
        named: `package.module:object`, from the settings.

    Returns:
        (where it comes from, for people; `package.module:object`) of each.
    """
    seen = set()
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        if point.value not in seen:
            seen.add(point.value)
            yield f"{point.value} ({_package(point)})", point.value
    for one in named:
        if one not in seen:
            seen.add(one)
            yield one, one


def are_announced(group: str) -> bool:
    """Whether any package has entry points of a group; none is loaded."""
    return bool(entry_points(group=group))


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an installed package"


def objects(reference: str) -> list[Any]:
    """Import what is named: one object, or those of a list or tuple.

    Raises:
        ForeignCodeFailed: it cannot be imported; says why.
    """
    module, _, path = reference.partition(":")
    with foreign_code():
        found = attrgetter(path)(import_module(module))
    return list(found) if isinstance(found, list | tuple) else [found]
