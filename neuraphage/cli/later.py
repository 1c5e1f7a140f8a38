"""A package that others import without need, executed when something of it is used, if ever.

redis-py imports its asyncio half always; a command that begins and ends waits for that longer than for its server.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types
from typing import Any

LATER = ("redis.asyncio",)


class _Later(types.ModuleType):
    """A module that was found and not executed; its submodules can be imported all the same."""

    def __getattr__(self, name: str) -> Any:
        """Whatever is asked for first: execute the module, and be an ordinary one from then on."""
        self.__class__ = types.ModuleType  # type: ignore[assignment]  # a subclass without a layout of its own
        if self.__spec__ is None or self.__spec__.loader is None:
            raise AttributeError(name)
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def import_later(name: str) -> None:
    """Have a package within another one executed when it is first used, where it is not imported yet.

    Args:
        name: package.subpackage.
    """
    parent, _, _ = name.partition(".")
    if parent in sys.modules:
        return
    outer = importlib.machinery.PathFinder.find_spec(parent)
    if outer is None or outer.submodule_search_locations is None:
        return
    spec = importlib.machinery.PathFinder.find_spec(name, outer.submodule_search_locations)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    module.__class__ = _Later
    sys.modules[name] = module
