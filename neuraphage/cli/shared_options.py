"""Options that every command takes, before its name or after it: --data-dir and --verbose."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

import typer

from neuraphage.cli.flags import choose_flag

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
"""Least level of the log lines on standard error, by how often --verbose was given."""


def _choose_data_dir(value: Path | None) -> None:
    if value is not None:
        choose_flag("data_dir", value)


def _log_more(times: int) -> None:
    if times:
        from neuraphage.client_wiring import redactor  # noqa: PLC0415 - only a call with --verbose waits for it
        from neuraphage.logs import configure_logging  # noqa: PLC0415 - as above

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


def add_shared_options(command: Any) -> None:
    """Give them to a command, and to what it has in it; the commands of the program get them when they are made."""
    command.params += _shared_options()
    inner = getattr(command, "commands", None)
    if type(inner) is dict:
        for one in inner.values():
            add_shared_options(one)


def _shared_options() -> list[Any]:
    app = typer.Typer(add_completion=False)
    app.command()(_carrier)
    return [option for option in typer.main.get_command(app).params if option.name in ("data_dir", "verbose")]
