"""What is known of a tool by its name, so that its calls can be shown; others than built-in ones are loaded for it."""

from __future__ import annotations

import logging
from functools import cache

from neuraphage.cli.flags import chosen_flags
from neuraphage.model.tool_traits import ToolTraits

_log = logging.getLogger(__name__)
_UNKNOWN = ToolTraits()


def traits_of(tool: str) -> ToolTraits:
    """The traits of a tool; those of an unknown one show every parameter and the beginning of the result.

    Args:
        tool: its name. Where it is none of the built-in ones, the tools of this installation are loaded to find it: the
            task may come from a worker that has others.
    """
    from neuraphage.tool_wiring import built_in_traits  # noqa: PLC0415 - not every view shows a call

    return built_in_traits().get(tool) or _installed().get(tool, _UNKNOWN)


@cache
def _installed() -> dict[str, ToolTraits]:
    from neuraphage import configuration  # noqa: PLC0415 - most calls shown are of built-in tools
    from neuraphage.errors import SettingsError  # noqa: PLC0415 - as above
    from neuraphage.tool_wiring import installed_tools  # noqa: PLC0415 - as above

    try:
        loaded = installed_tools(configuration.load(**chosen_flags()))
    except SettingsError as error:
        _log.debug("tools not loaded: %s", error)
        return {}
    for problem in loaded.problems:
        _log.debug("tool not loaded: %s", problem)
    return {one.tool.declaration.name: one.tool.declaration.traits for one in loaded.tools}
