"""`rules`: the rules about calls of tools, and what comes of a call by them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraphage.cli.allowing import Allow
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
from neuraphage.decide.rules.reading import EVERY_TOOL, read_rule, rules_in
from neuraphage.errors import BadInput
from neuraphage.inside_command import refuse_inside_command
from neuraphage.model.rule import Rule, RuleSource
from neuraphage.model.tool import ToolDeclaration
from neuraphage.tool_wiring import built_in_tools, installed_tools, judged_call

if TYPE_CHECKING:
    from neuraphage.trusted_projects import TrustedProject

_WORDS = {
    "allowed": "runs without asking",
    "ask": "a person is asked",
    "denied": "never runs, and nobody is asked",
    "blocked": "never runs, whatever is allowed: it would destroy the machine or a home directory",
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    rules = typer.Typer(
        help="Show, change and explain rules about calls of tools.",
        epilog="Example: neuraphage rules list",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    rules.command("list", epilog="Example: neuraphage rules list")(list_rules)
    rules.command(epilog="Example: neuraphage rules add 'allow run_command: pytest *'")(add)
    rules.command(epilog="Example: neuraphage rules remove 1")(remove)
    rules.command(epilog="Example: neuraphage rules explain 'run_command: git push origin'")(explain)
    app.add_typer(rules, name="rules")


WorkingDir = Annotated[Path, typer.Option("--dir", help="Working directory of the task.")]


def list_rules(directory: WorkingDir = Path(), as_json: AsJson = False) -> None:
    """List the rules of the settings, your own, and those of the project; a task adds what it was submitted with."""
    from neuraphage.own_rules import OwnRule, read_own_rules, rules_file  # noqa: PLC0415 - only this command needs it

    settings = load_settings()
    of_settings = rules_in(settings.rules, allow_sandboxed=False, blocked_hosts=settings.blocked_hosts)
    numbered: list[tuple[int | None, OwnRule]] = [(None, OwnRule(rule)) for rule in of_settings]
    numbered += enumerate(read_own_rules(rules_file()), start=1)
    for project in _told_projects(existing_dir(directory)):
        numbered += [(None, OwnRule(rule, project.directory)) for rule in project.rules]
    if as_json:
        print_json([{**_row(one.rule), "number": number, "dir": one.directory} for number, one in numbered])
        return
    table = plain_table("number", "effect", "tool", "pattern", "source", "dir")
    for number, one in numbered:
        rule = one.rule
        cells = (rule.effect.value, rule.tool, rule.pattern or "", rule.source.value, one.directory or "")
        table.add_row(str(number or ""), *map(one_line, cells))
    print_table(table)


def add(
    rule: Annotated[str, typer.Argument(help="Effect, tool and pattern: 'allow run_command: pytest *'.")],
    directory: Annotated[
        Path | None, typer.Option("--dir", help="It holds for tasks that work there or below; without it for all.")
    ] = None,
) -> None:
    """Add a rule of your own. Workers of yours follow it from their next turn on."""
    refuse_inside_command("`neuraphage rules add`")
    from neuraphage.own_rule_changes import add_rule  # noqa: PLC0415 - only this command needs it
    from neuraphage.own_rules import rules_file  # noqa: PLC0415 - as above

    made, place = read_rule(rule), None if directory is None else existing_dir(directory)
    _warn_of_unknown(made)
    was_added = add_rule(rules_file(), made, place)
    where = "" if place is None else f" in {place}"
    out.print(harmless(f"{'added' if was_added else 'it is there already'}: {made}{where}"))


def remove(
    rule: Annotated[str, typer.Argument(metavar="N|RULE", help="Its number in `rules list`, or the rule itself.")],
) -> None:
    """Remove a rule of your own."""
    refuse_inside_command("`neuraphage rules remove`")
    from neuraphage.own_rule_changes import remove_rule  # noqa: PLC0415 - only this command needs it
    from neuraphage.own_rules import rules_file  # noqa: PLC0415 - as above

    gone = remove_rule(rules_file(), rule)
    where = "" if gone.directory is None else f" in {gone.directory}"
    out.print(harmless(f"removed: {gone.rule}{where}"))


def explain(
    call: Annotated[
        str, typer.Argument(help="The tool, and its command line or path: 'run_command: git push', 'edit: a.py'.")
    ],
    allow: Allow = None,
    directory: WorkingDir = Path(),
    tools: Tools = None,  # noqa: ARG001 - noted as a setting
    as_json: AsJson = False,
) -> None:
    """Say what would come of a call, and by which rule. Nothing is run."""
    name, _, what = (part.strip() for part in call.partition(":"))
    tool, place = _declared(name), existing_dir(directory)
    found = judged_call(tool, _params(tool, what), load_settings(), tuple(allow or ()), place)
    _told_projects(place)
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


def _told_projects(directory: str) -> tuple[TrustedProject, ...]:
    """What is trusted of a directory; of its rules that are not used, people are told."""
    from neuraphage.project_standing import standing_of  # noqa: PLC0415 - only these commands need it
    from neuraphage.trusted_projects import trust_file  # noqa: PLC0415 - as above

    standing = standing_of(directory, trust_file())
    for text in standing.told():
        complain(text)
    return () if standing.trusted is None else (standing.trusted,)


def _warn_of_unknown(rule: Rule) -> None:
    """Say where a tool's name is nearly one that there is; workers may have others, so it is no error."""
    if rule.tool == EVERY_TOOL:
        return
    with without_plugins():
        known = [one.declaration.name for one in built_in_tools()]
    near = [] if rule.tool in known else difflib.get_close_matches(rule.tool, known, n=1, cutoff=0.5)
    if near:
        complain(f"no built-in tool is called {rule.tool}; did you mean {near[0]}?")


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
