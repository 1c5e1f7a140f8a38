"""`where`: the folders and files of neuraphage on this host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.filesize import decimal

from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import complain, harmless, print_json, print_wrapped
from neuraphage.data_folder import data_bytes, kept_in, quota_warnings, size_bytes
from neuraphage.own_rules import rules_file
from neuraphage.server_socket import find_socket
from neuraphage.setting_sources import project_file, user_file
from neuraphage.trusted_projects import trust_file


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage where --json")(where)


def where(as_json: AsJson = False) -> None:
    """Show where data, settings and logs are, and how large."""
    settings = load_settings()
    folder = settings.data_dir
    places = [
        _place("data", folder, "all of the following in it", data_bytes(folder)),
        *(_place(thing.path.name, thing.path, thing.what) for thing in kept_in(folder)),
        *(_place("socket", path, "socket of the local stack's server") for path in (find_socket(folder),) if path),
        _place("user settings", user_file(), "settings of this person"),
        _place("user rules", rules_file(), "rules of this person about calls of tools"),
        _place("trusted projects", trust_file(), "projects whose rules this person trusts"),
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


def _place(name: str, path: Path, holds: str, held_bytes: int | None = None) -> dict[str, Any]:
    held_bytes = size_bytes(path) if held_bytes is None else held_bytes
    return {"name": name, "path": str(path), "exists": path.exists(), "bytes": held_bytes, "holds": holds}
