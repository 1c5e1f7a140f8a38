"""Composes commands: binds the application service to the servers that a command reaches, and to this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuraphage.api import Api
from neuraphage.client_wiring import api_ports, redacted
from neuraphage.dev.stopped_stack import has_left_tasks, is_up
from neuraphage.settings import Settings

if TYPE_CHECKING:
    from neuraphage.model.tool_traits import ToolTraits
    from neuraphage.ports import LoadedTools, Tool
    from neuraphage.tools.tool_check import ToolReport


def api_of(settings: Settings) -> Api:
    """The application service on the servers of these settings. No connection is made yet.

    Raises:
        SettingsError: a server's URL cannot be read.
    """
    return Api(api_ports(settings))


@contextmanager
def api_of_left_tasks(settings: Settings) -> Iterator[Api]:
    """The application service on what the last local stack has left, for as long as this is entered.

    Args:
        settings: name the data folder.

    Raises:
        StackError: no program of a server was found, or it could not read the data.
    """
    from neuraphage.dev.offline_copy import settings_of_copy  # noqa: PLC0415 - only where no stack runs

    with settings_of_copy(settings) as copied, api_of(copied) as api:
        yield api


def has_only_left_tasks(settings: Settings) -> bool:
    """Whether no server is named, no local stack runs, and the last one has left tasks."""
    return not settings.names_servers and not is_up(settings) and has_left_tasks(settings.data_dir)


def built_in_tools() -> list[Tool]:
    """The tools that every worker has."""
    from neuraphage.tools.registry import default_toolbox  # noqa: PLC0415 - few calls need the tools

    box = default_toolbox()
    return [tool for declared in box.declarations() if (tool := box.get(declared.name)) is not None]


def installed_tools(settings: Settings) -> LoadedTools:
    """The other tools of a worker with these settings: of this installation's packages, and those that are named."""
    from neuraphage.tools.loading import load_tools  # noqa: PLC0415 - as above

    return load_tools(settings.tools, redact=redacted)


def checked_tool(
    tool: Tool, params: Mapping[str, Any] | None, settings: Settings, working_dir: Path | None
) -> ToolReport:
    """Hold a tool against what it declares; nothing of what it says shows a secret.

    Args:
        tool: the tool.
        params: of a call that may really be carried out; None to run nothing.
        settings: of its workers.
        working_dir: where it runs; None for a folder that is removed again.
    """
    from neuraphage.tools.tool_check import check_tool  # noqa: PLC0415 - as above

    return check_tool(tool, params, working_dir=working_dir, effect_limit_s=settings.effect_max_s, redact=redacted)


def built_in_traits() -> Mapping[str, ToolTraits]:
    """What the parameters and results of built-in tools mean, by name; no tool is loaded for it."""
    from neuraphage.tools.builtin_traits import BUILTIN_TRAITS  # noqa: PLC0415 - as above

    return BUILTIN_TRAITS
