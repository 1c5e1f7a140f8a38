"""`rules`: the rules about calls of tools, and what comes of a call by them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from neuraphage.cli.allowing import Allow
from neuraphage.cli.arguments import AsJson, Tools, existing_dir
from neuraphage.cli.connection import load_settings
from neuraphage.cli.console import harmless, one_line, out, plain_table, print_json, print_table, print_wrapped
from neuraphage.cli.lazy_imports import without_plugins
from neuraphage.errors import BadInput
from neuraphage.model.rule import Rule, RuleSource
from neuraphage.model.tool import ToolDeclaration
from neuraphage.tool_wiring import built_in_tools, installed_tools, judged_call

_WORDS = {
    "allowed": "runs without asking",
    "ask": "a person is asked",
    "denied": "never runs, and nobody is asked",
    "blocked": "never runs, whatever is allowed: it would destroy the machine or a home directory",
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    rules = typer.Typer(
        help="Show rules about calls of tools, and explain one.",
        epilog="Example: neuraphage rules list",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    rules.command("list", epilog="Example: neuraphage rules list")(list_rules)
    rules.command(epilog="Example: neuraphage rules explain 'run_command: git push origin'")(explain)
    app.add_typer(rules, name="rules")


def list_rules(as_json: AsJson = False) -> None:
    """List the rules of these settings; a task adds what it was submitted with (--allow)."""
    from neuraphage.decide.rules.reading import read_rule  # noqa: PLC0415 - only this command needs it

    rules = [read_rule(text) for text in load_settings().rules]
    if as_json:
        print_json([_row(rule) for rule in rules])
        return
    table = plain_table("effect", "tool", "pattern")
    for rule in rules:
        table.add_row(*map(one_line, (rule.effect.value, rule.tool, rule.pattern or "")))
    print_table(table)


def explain(
    call: Annotated[
        str, typer.Argument(help="The tool, and its command line or path: 'run_command: git push', 'edit: a.py'.")
    ],
    allow: Allow = None,
    directory: Annotated[Path, typer.Option("--dir", help="Working directory of the task.")] = Path(),
    tools: Tools = None,  # noqa: ARG001 - noted as a setting
    as_json: AsJson = False,
) -> None:
    """Say what would come of a call, and by which rule. Nothing is run."""
    name, _, what = (part.strip() for part in call.partition(":"))
    tool = _declared(name)
    found = judged_call(tool, _params(tool, what), load_settings(), tuple(allow or ()), existing_dir(directory))
    ruling = found.ruling.value
    by_rule = next((rule for rule in found.rules if rule.source is not RuleSource.BUILT_IN), None)
    if as_json:
        rule = None if by_rule is None else _row(by_rule)
        print_json({"call": call, "ruling": ruling, "rule": rule, "reasons": list(found.reasons)})
        return
    by = "" if by_rule is None else f", by `{by_rule}` of {by_rule.source.owner}"
    out.print(harmless(f"{_WORDS[ruling]}{by}"))
    for part in found.reasons:
        print_wrapped(harmless(f"  {part}", indent=" " * 4), " " * 4)


def _row(rule: Rule) -> dict[str, Any]:
    return {
        "effect": rule.effect.value,
        "tool": rule.tool,
        "pattern": rule.pattern,
        "source": rule.source.value,
        "rule": str(rule),
    }


def _declared(name: str) -> ToolDeclaration:
    """The declaration of this tool.

    Raises:
        BadInput: there is none.
    """
    with without_plugins():
        ours: Iterable[Any] = built_in_tools()
    loaded = installed_tools(load_settings())
    known = {one.declaration.name: one.declaration for one in (*ours, *(each.tool for each in loaded.tools))}
    if name in known:
        found: ToolDeclaration = known[name]
        return found
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]}?" if near else "`neuraphage tools list` shows all"
    raise BadInput(f"there is no tool {name!r}; {meant}")


def _params(tool: ToolDeclaration, what: str) -> dict[str, str]:
    """Parameters of a call: the command line, or the path, that the tool is called with."""
    traits = tool.traits
    names = [traits.command] if traits.command is not None else [*traits.writes, *traits.reads][:1]
    if what and not names:
        raise BadInput(f"{tool.name} has neither a command line nor a path; write its name alone")
    return {name: what for name in names if what and name is not None}
