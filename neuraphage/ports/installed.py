"""Tools that an installation has beside the built-in ones, as far as they could be loaded."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.ports.tools import Tool


@dataclass(frozen=True, slots=True)
class LoadedTool:
    """A tool, and where it comes from.

    Args:
        tool: the tool.
        origin: `package.module:object`, and the package that announces it.
    """

    tool: Tool
    origin: str


@dataclass(frozen=True, slots=True)
class ToolProblem:
    """A tool that could not be loaded.

    Args:
        origin: where it was looked for.
        reason: what was found there.
    """

    origin: str
    reason: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.reason}"


@dataclass(frozen=True, slots=True)
class LoadedTools:
    """What was found: tools with names of their own, and what is wrong with the others."""

    tools: tuple[LoadedTool, ...] = ()
    problems: tuple[ToolProblem, ...] = ()
