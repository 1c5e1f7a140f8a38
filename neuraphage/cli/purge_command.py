"""`purge`: removes the data folder of this host."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.text import Text

from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import harmless, out
from neuraphage.dev.purge import remove, unused_folder
from neuraphage.errors import BadInput


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage purge --data-dir ./scratch")(purge)


def purge(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove the data folder of this host with all its tasks.

    That is: tasks of the local stack, output of commands, logs. Only a folder that neuraphage made, and only while
    nothing uses it. Tasks on a server of your own stay, and so do the files of settings.
    """
    settings = load_settings()
    folder = settings.data_dir
    if not folder.exists():
        out.print(harmless(f"nothing to remove: there is no {folder}"))
        return
    with unused_folder(settings) as kept:
        for thing in kept:
            out.print(Text(f"{decimal(thing.size_bytes):>10}  ") + harmless(f"{thing.path}: {thing.what}"))
        if not yes:
            if not sys.stdin.isatty():
                raise BadInput("purge asks before it removes, and here is nobody to ask; to go ahead, give --yes")
            if not typer.confirm(f"Remove all of this from {folder}?"):
                out.print("nothing was removed")
                raise typer.Exit(1)
        left = remove(settings, kept)
    out.print("removed")
    if left:
        out.print(harmless(f"{folder} stays: it also holds {', '.join(left)}"))
