"""Lazy imports of what others import without need: executed at the first use, if ever, or not looked for at all.

redis-py imports its asyncio half always, and OpenTelemetry where there is one (the model's SDK brings it). pydantic
reads what every installed package says of itself. A command that begins and ends waits longer for that than for its
server.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LAZY = ("redis.asyncio",)
NEVER = ("opentelemetry.metrics",)
"""redis-py looks for it, and counts its calls where a program has set that up. A command sets up nothing."""
NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
"""The variable of pydantic that decides, each time that a model is made, whether plugins are looked for."""


class _LazyModule(types.ModuleType):
    """A module that was found and not executed; its submodules can be imported all the same."""

    def __getattr__(self, name: str) -> Any:
        """Whatever is asked for first: execute the module, and be an ordinary one from then on."""
        self.__class__ = types.ModuleType  # type: ignore[assignment]  # a subclass without a layout of its own
        if self.__spec__ is None or self.__spec__.loader is None:
            raise AttributeError(name)
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def import_lazily(name: str) -> None:
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
    module.__class__ = _LazyModule
    sys.modules[name] = module


def import_never(name: str) -> None:
    """Have a package count as not installed, unless somebody has imported it before us.

    Args:
        name: package.subpackage.
    """
    if name.partition(".")[0] not in sys.modules:
        sys.modules[name] = None  # type: ignore[assignment]  # the import system's own word for it


@contextmanager
def without_plugins() -> Iterator[None]:
    """Make models without a look for plugins of pydantic: nobody watches what a command validates.

    The variable is as it was afterwards: processes that the command starts inherit none of it.
    """
    before = os.environ.get(NO_PLUGINS)
    os.environ[NO_PLUGINS] = "__all__"
    try:
        yield
    finally:
        if before is None:
            del os.environ[NO_PLUGINS]
        else:
            os.environ[NO_PLUGINS] = before
