"""`env`: the variables with which other programs (celery, Flower, your own) find the stack that commands use."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from typing import Annotated

import typer

from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import server_settings
from neuraphage.cli.console import complain, out, print_json
from neuraphage.setting_sources import variable
from neuraphage.settings import Settings

NAMES = ("state_url", "broker_url", "namespace", "data_dir")
"""What says where a stack is."""


class Shell(StrEnum):
    """Whose words are written."""

    SH = "sh"
    """sh, bash, zsh and others that know export."""
    FISH = "fish"
    """fish."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage env --shell fish")(env)


def env(
    shell: Annotated[Shell, typer.Option(help="Whose words to write.", case_sensitive=False)] = Shell.SH,
    as_json: AsJson = False,
) -> None:
    """Print the variables that lead other programs to this stack.

    For `eval "$(neuraphage env)"` in sh, or `neuraphage env --shell fish | source`. The output holds the passwords of
    the servers: keep it out of files and chats. As variables they stand in no list of processes.
    """
    values = variables(server_settings())
    if as_json:
        print_json(values)
        return
    for name, value in values.items():
        out.print(exported(name, value, shell))
    if sys.stdout.isatty():
        complain('this shows the passwords of the servers; in place of reading it: eval "$(neuraphage env)"')


def variables(settings: Settings) -> dict[str, str]:
    """Variables that reach these servers, with their passwords."""
    found = {}
    for name in NAMES:
        value = getattr(settings, name)
        found[variable(name)] = value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)
    return found


def exported(name: str, value: str, shell: Shell) -> str:
    """A command that sets a variable, whatever characters it holds. Pure."""
    if shell is Shell.FISH:
        quoted = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"set -gx {name} '{quoted}'"
    return f"export {name}={shlex.quote(value)}"
