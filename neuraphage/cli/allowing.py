"""`--allow`: tools that a task may use without asking."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Annotated

import typer

from neuraphage.cli.console import complain
from neuraphage.decide.rules.reading import read_allowed
from neuraphage.model.rule import SANDBOXED

_EVERY_TOOL = "*"


def side_effecting_tools(incomplete: str = "") -> list[str]:
    """Names of the built-in tools that ask first, for completion.

    Args:
        incomplete: how they begin.
    """
    from neuraphage.tool_wiring import built_in_tools  # noqa: PLC0415 - few calls need the tools

    asking = (one.declaration for one in built_in_tools() if one.declaration.side_effecting)
    return [tool.name for tool in asking if tool.name.startswith(incomplete)]


Allow = Annotated[
    list[str] | None,
    typer.Option(
        help="A tool that needs no asking, or some of its calls ('run_command: pytest *'); repeatable; '*' for all.",
        autocompletion=side_effecting_tools,
    ),
]


AutoAllowSandboxed = Annotated[
    bool, typer.Option("--auto-allow-sandboxed", help="Command lines in a sandbox without a network need no asking.")
]


def allowed_by(allow: Iterable[str] | None, *, sandboxed: bool) -> list[str]:
    """What a task may do without asking.

    Args:
        allow: of --allow.
        sandboxed: of --auto-allow-sandboxed.
    """
    return [*(allow or ()), *([f"{_EVERY_TOOL}: {SANDBOXED}"] if sandboxed else ())]


def hint_at_misspelt(allowed: Iterable[str]) -> None:
    """Say which of these are nearly names of built-in tools; workers may have more tools, so nothing is refused.

    Args:
        allowed: as given; a wrong name does no harm, the task asks.

    Raises:
        BadInput: one is neither a tool nor a tool with a pattern.
    """
    allowed = list(allowed)
    for one in allowed:
        read_allowed(one)
    wanted = [name for one in allowed if (name := one.partition(":")[0].strip()) != _EVERY_TOOL]
    known = side_effecting_tools() if wanted else []
    for name in wanted:
        near = [] if name in known else difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        if near:
            complain(f"--allow {name}: no built-in tool has this name, did you mean {near[0]}? The task will ask.")
