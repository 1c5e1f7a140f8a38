"""Finds the tools of this installation for commands, which reach no server for it and are to begin at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraphage.model.tool_traits import ToolTraits
    from neuraphage.ports import LoadedTools, Tool
    from neuraphage.settings import Settings


def built_in_tools() -> list[Tool]:
    """The tools that every worker has."""
    from neuraphage.tools.registry import default_toolbox  # noqa: PLC0415 - few calls need the tools

    box = default_toolbox()
    return [tool for declared in box.declarations() if (tool := box.get(declared.name)) is not None]


def installed_tools(settings: Settings) -> LoadedTools:
    """The other tools of a worker with these settings: of this installation's packages, and those that are named."""
    from neuraphage.tools.loading import load_tools  # noqa: PLC0415 - as above

    return load_tools(settings.tools, redact=_redacted)


def built_in_traits() -> Mapping[str, ToolTraits]:
    """What the parameters and results of built-in tools mean, by name; no tool is loaded for it."""
    from neuraphage.tools.builtin_traits import BUILTIN_TRAITS  # noqa: PLC0415 - as above

    return BUILTIN_TRAITS


def _redacted(text: str) -> str:
    from neuraphage.client_wiring import redacted  # noqa: PLC0415 - only what the code of others says needs it

    return redacted(text)
