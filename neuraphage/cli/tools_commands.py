"""`tools`: the tools that a worker of these settings has, and whether one keeps what it declares."""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from neuraphage.cli.arguments import AsJson, Tools, existing_dir
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import (
    complain,
    harmless,
    one_line,
    out,
    plain_table,
    print_json,
    print_table,
    print_wrapped,
)
from neuraphage.cli.lazy_imports import without_plugins
from neuraphage.errors import BadInput
from neuraphage.model.tool import ToolDeclaration
from neuraphage.ports import LoadedTool, LoadedTools
from neuraphage.tool_wiring import built_in_tools, checked_tool, installed_tools

BUILT_IN = "built in"
_MARKS = {True: ("ok", "green"), False: ("PROBLEM", "bold red"), None: ("unknown", "yellow")}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    tools = typer.Typer(
        help="Show and check the tools that a model may call.",
        epilog="Example: neuraphage tools list",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    tools.command("list", epilog="Example: neuraphage tools list --tool shop:charge")(list_tools)
    tools.command(epilog="Example: neuraphage tools show run_command")(show)
    tools.command(
        epilog="""Example: neuraphage tools check charge --tool shop:charge --params '{"customer": "x", "cents": 1}'"""
    )(check)
    app.add_typer(tools, name="tools")


def list_tools(tools: Tools = None, as_json: AsJson = False) -> None:  # noqa: ARG001 - noted as a setting
    """List the tools of a worker with these settings; exit 1 when one cannot be loaded."""
    found, loaded = _all()
    if as_json:
        rows = [_row(one) for one in found]
        print_json({"tools": rows, "problems": [{"origin": p.origin, "reason": p.reason} for p in loaded.problems]})
    else:
        table = plain_table("tool", "effect", "asks", "from", "what it does")
        for one in found:
            declared = one.tool.declaration
            asks = "yes" if declared.side_effecting else "no"
            texts = (declared.name, declared.effect_class.value, asks, one.origin, _title(declared))
            table.add_row(*map(one_line, texts))
        print_table(table)
    for problem in loaded.problems:
        complain(f"not loaded: {problem}")
    raise typer.Exit(1 if loaded.problems else 0)


def show(
    name: Annotated[str, typer.Argument(help="Name of the tool.")],
    tools: Tools = None,  # noqa: ARG001 - noted as a setting
    as_json: AsJson = False,
) -> None:
    """Show what a tool declares, as the model and the workers read it."""
    one = _named(name)
    row = _row(one)
    if as_json:
        print_json(row)
        return
    for key, value in row.items():
        text = json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, dict) else str(value)
        print_wrapped(harmless(f"{key + ':':<13} {text}", indent=" " * 14), " " * 14)


def check(
    name: Annotated[str, typer.Argument(help="Name of the tool.")],
    params: Annotated[
        str | None,
        typer.Option(help="Parameters as JSON. With them the tool is really run, once or twice."),
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Where it runs; a folder that is removed again if not given.")
    ] = None,
    tools: Tools = None,  # noqa: ARG001 - noted as a setting
    as_json: AsJson = False,
) -> None:
    """Hold a tool against what it declares; exit 1 when something is not so.

    A pure or keyed tool is run twice with the same parameters and the same key, a checkable one is probed before and
    after its run.
    """

    given = None if params is None else _object(params)
    if directory is not None:
        existing_dir(directory)
    folder = None if directory is None else directory.resolve()
    tool = _named(name).tool
    with _no_log_on_the_terminal():
        report = checked_tool(tool, given, load_settings(), folder)
    if as_json:
        findings = [{"check": one.check, "ok": one.ok, "text": one.text} for one in report.findings]
        print_json({"tool": report.name, "ok": not report.problems, "findings": findings})
    else:
        for one in report.findings:
            word, style = _MARKS[one.ok]
            print_wrapped(
                harmless(f"{word:<8}", style) + harmless(f" {one.check}: {one.text}", indent=" " * 11), " " * 11
            )
        bad = len(report.problems)
        out.print(f"{bad} of {len(report.findings)} checks found a problem" if bad else "nothing is wrong")
    raise typer.Exit(1 if report.problems else 0)


@contextmanager
def _no_log_on_the_terminal() -> Iterator[None]:
    """While a tool runs: Python shows logged errors where nobody has asked for a log, with tracebacks and secrets."""
    root, nothing = logging.getLogger(), logging.NullHandler()
    root.addHandler(nothing)
    try:
        yield
    finally:
        root.removeHandler(nothing)


def _all() -> tuple[list[LoadedTool], LoadedTools]:
    settings = load_settings()
    with without_plugins():
        ours = built_in_tools()
    loaded = installed_tools(settings)
    return [*(LoadedTool(tool, BUILT_IN) for tool in ours), *loaded.tools], loaded


def _named(name: str) -> LoadedTool:
    """The tool of this name.

    Raises:
        BadInput: there is none.
    """
    found, loaded = _all()
    by_name = {one.tool.declaration.name: one for one in found}
    if name in by_name:
        return by_name[name]
    missing = "".join(f"; not loaded: {problem}" for problem in loaded.problems)
    near = difflib.get_close_matches(name, by_name, n=1)
    meant = f"; did you mean {near[0]}?" if near else "; `neuraphage tools list` shows all"
    raise BadInput(f"there is no tool {name!r}{meant}{missing}")


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise BadInput(f"--params: this is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadInput('--params: an object is wanted, such as \'{"path": "a.txt"}\'')
    return found


def _row(one: LoadedTool) -> dict[str, Any]:
    """A tool's declaration with stable names."""
    declared = one.tool.declaration
    return {
        "name": declared.name,
        "title": _title(declared),
        "from": one.origin,
        "effect": declared.effect_class.value,
        "asks": declared.side_effecting,
        "timeout_s": declared.timeout_s,
        "version": declared.version,
        "description": declared.description,
        "traits": declared.traits.model_dump(mode="json", exclude_defaults=True),
        "parameters": declared.input_schema,
    }


def _title(declared: ToolDeclaration) -> str:
    """What the tool does in a few words: its title, or the first line of its description."""
    return declared.traits.title or declared.description.partition("\n")[0]
