"""`config`: which settings hold, and where each comes from."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from typing import Any

import typer
from pydantic import SecretStr
from rich.text import Text

from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import harmless, hint, one_line, out, plain_table, print_json, print_table, print_wrapped
from neuraphage.cli.flags import chosen_flags
from neuraphage.cli.hints import command_line
from neuraphage.configuration import ShownSetting, masked_url, shown
from neuraphage.errors import StackError
from neuraphage.money_settings import MoneySettings
from neuraphage.setting_sources import LOWER_ONLY_KEYS, PROJECT_KEYS, project_file, user_file, variable
from neuraphage.settings import Settings
from neuraphage.stack_note import note_path, settings_of_running_stack


def register(app: typer.Typer) -> None:
    """Add the commands."""
    config = typer.Typer(
        help="Show settings and where they come from.",
        epilog="Example: neuraphage config show",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    config.command(epilog="Example: neuraphage config show --json")(show)
    config.command(epilog="Example: neuraphage config keys")(keys)
    app.add_typer(config, name="config")


def show(as_json: AsJson = False) -> None:
    """Show every setting, and where its value comes from.

    Passwords are masked. A flag comes before the environment, that before ./neuraphage.toml, and that before the
    user's own file. While a local stack runs, its servers are those that commands use.
    """
    settings = load_settings()
    try:
        running = settings_of_running_stack(settings)
    except StackError:  # none runs
        running = None
    found = shown(settings, running=running, note=str(note_path(settings.data_dir)), **chosen_flags())
    if as_json:
        print_json({s.name: {"value": s.value, "origin": s.origin, "place": s.place} for s in found})
        return
    table = plain_table("setting", "value", "from")
    for setting in found:
        style = "" if setting.origin == "default" else "bold"
        table.add_row(Text(setting.name, style), _text(setting.value, style), one_line(_origin(setting)))
    print_table(table)
    if out.is_terminal:
        print_wrapped(harmless(f"\n{_used(settings, running)}"), "  ")


def _used(settings: Settings, running: Settings | None) -> str:
    """Which servers a command would really use."""
    if settings.names_servers:
        return "commands use the servers that are named above"
    if running is not None:
        for_others = f'eval "$({command_line("env")})"'
        return f"commands use the stack that runs for {settings.data_dir}; to lead celery to it: {for_others}"
    return (
        f"no stack runs for {settings.data_dir}: commands use no server; the ones above are a worker's"
        f" default; start a stack with: {command_line('dev')}"
    )


def keys(as_json: AsJson = False) -> None:
    """List what can be set, and what each means.

    Works also when a file of settings is broken.
    """
    meanings = _meanings()
    found = [
        {
            "name": name,
            "variable": variable(name),
            "default": _default(name),
            "project_file": "yes" if name in PROJECT_KEYS else "lower" if name in LOWER_ONLY_KEYS else "no",
            "meaning": meanings.get(name, ""),
        }
        for name in Settings.model_fields
    ]
    if as_json:
        print_json(found)
        return
    table = plain_table("setting", "default", "meaning")
    for key in found:
        table.add_row(key["name"], _text(key["default"]), one_line(str(key["meaning"])))
    print_table(table)
    lower = ", ".join(sorted(LOWER_ONLY_KEYS))
    hint(f"\nin the environment: {variable('lease_s')}=20; in a file: lease_s = 20")
    hint(f"{user_file()}: all of them")
    hint(f"./{project_file()}: {', '.join(sorted(PROJECT_KEYS))}; and, only lower: {lower}")


def _text(value: str | float | bool | None, style: str = "") -> Text:
    """A value as a file would hold it, on one line and whole: people copy values."""
    if value is None or isinstance(value, bool):
        text = "-" if value is None else str(value).lower()
    else:
        text = f"{value:.15g}" if isinstance(value, int | float) else " ".join(value.split())
    return harmless(text, style)


def _origin(setting: ShownSetting) -> str:
    return f"{setting.origin} {setting.place}".strip()


def _default(name: str) -> Any:
    value = Settings.model_fields[name].get_default(call_default_factory=True)
    if isinstance(value, SecretStr):
        return masked_url(value.get_secret_value())
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _meanings() -> dict[str, str]:
    """The line under each setting in the source, by its name."""
    lines: list[ast.stmt] = []
    for part in (Settings, MoneySettings):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
        lines += getattr(tree, "body", [])
    found = {}
    for line, below in itertools.pairwise(lines):
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and is_text:
            found[line.target.id] = inspect.cleandoc(str(below.value.value))  # type: ignore[attr-defined]  # is_text
    return found
