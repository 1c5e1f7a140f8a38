"""Options that every command takes, before its name or after it: --data-dir and --verbose."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from neuraphage.cli.connection import choose_flags
from neuraphage.logs import configure_logging
from neuraphage.wiring import redactor

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
"""Least level of the log lines on standard error, by how often --verbose was given."""


def _choose_data_dir(value: Path | None) -> None:
    if value is not None:
        choose_flags(data_dir=value)


def _log_more(times: int) -> None:
    if times:
        configure_logging(redactor(), level=LEVELS[min(times, len(LEVELS) - 1)])


def _carrier(
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of the local stack.", callback=_choose_data_dir, expose_value=False),
    ] = None,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            help="Show log lines; -vv shows more.",
            count=True,
            callback=_log_more,
            expose_value=False,
        ),
    ] = 0,
) -> None:
    """Never runs; typer makes its options, which then move to every command."""


class SharedOptionsGroup(TyperGroup):
    """The commands, each with the shared options added."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in (self, *_commands(self)):
            command.params += _shared_options()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A call knows nothing of an earlier one in the same process."""
        choose_flags(data_dir=None)
        return super().parse_args(ctx, args)


def _shared_options() -> list[Any]:
    app = typer.Typer(add_completion=False)
    app.command()(_carrier)
    return [option for option in typer.main.get_command(app).params if option.name in ("data_dir", "verbose")]


def _commands(group: TyperGroup) -> Iterator[Any]:
    for command in group.commands.values():
        if isinstance(command, TyperGroup):
            yield from _commands(command)
        else:
            yield command
