"""What is known of a tool by its name, for views of calls."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from neuraphage.cli.flags import chosen_flags

if TYPE_CHECKING:
    from neuraphage.model.tool_traits import ToolTraits

_log = logging.getLogger(__name__)


def traits_of(tool: str) -> ToolTraits:
    """As `client_wiring.tool_traits`, with the tools that the settings of this call of the program name.

    Args:
        tool: its name.
    """
    from neuraphage.client_wiring import tool_traits  # noqa: PLC0415 - not every view shows a call
    from neuraphage.tool_wiring import built_in_traits  # noqa: PLC0415 - as above

    return built_in_traits().get(tool) or tool_traits(_named(), tool)


@cache
def _named() -> tuple[str, ...]:
    from neuraphage import configuration  # noqa: PLC0415 - most calls shown are of built-in tools
    from neuraphage.errors import SettingsError  # noqa: PLC0415 - as above

    try:
        return configuration.load(**chosen_flags()).tools
    except SettingsError as error:
        _log.debug("tools not loaded: %s", error)
        return ()
