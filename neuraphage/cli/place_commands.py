"""`where` and `purge`: the folders and files of neuraphage on this host."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.filesize import decimal
from rich.text import Text

from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import complain, harmless, out, print_json, print_wrapped
from neuraphage.data_folder import kept_in, quota_warnings, size_bytes
from neuraphage.dev.purge import remove, unused_folder
from neuraphage.dev.server_files import find_socket
from neuraphage.errors import BadInput
from neuraphage.setting_sources import project_file, user_file


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: neuraphage where --json")(where)
    app.command(epilog="Example: neuraphage purge --data-dir ./scratch")(purge)


def where(as_json: AsJson = False) -> None:
    """Show where data, settings and logs are, and how large."""
    settings = load_settings()
    folder = settings.data_dir
    places = [
        _place("data", folder, "everything below"),
        *(_place(thing.path.name, thing.path, thing.what) for thing in kept_in(folder)),
        *(_place("socket", path, "socket of the local stack's server") for path in (find_socket(folder),) if path),
        _place("user settings", user_file(), "settings of this person"),
        _place("project settings", project_file().absolute(), "settings of this directory"),
    ]
    if as_json:
        print_json(places)
        return
    for place in places:
        size = decimal(place["bytes"]) if place["exists"] else "not there"
        print_wrapped(harmless(f"{place['name']:<17} {size:>9}  {place['path']}"), "  ")
    for warning in quota_warnings(settings):
        complain(warning)


def _place(name: str, path: Path, holds: str) -> dict[str, Any]:
    return {"name": name, "path": str(path), "exists": path.exists(), "bytes": size_bytes(path), "holds": holds}


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
