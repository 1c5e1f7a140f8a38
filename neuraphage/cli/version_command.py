"""`version`."""

from __future__ import annotations

import typer

from neuraphage import __version__
from neuraphage.cli.arguments import AsJson
from neuraphage.cli.console import out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage version --json")(version)


def version(as_json: AsJson = False) -> None:
    """Show the version."""
    if as_json:
        print_json({"version": __version__})
        return
    out.print(f"neuraphage {__version__}")
