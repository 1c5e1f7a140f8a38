"""`trust`: the rules that a project brings hold once a person has said so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuraphage.cli.arguments import AsJson, existing_dir
from neuraphage.cli.console import complain, harmless, one_line, out, plain_table, print_json, print_table
from neuraphage.errors import BadInput
from neuraphage.inside_command import refuse_inside_command


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage trust ./my-project")(trust)


def trust(
    directory: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Directory of the project; the present one if not given.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Let its rules hold no longer.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="Show what you trust, and what has changed since.")] = False,
    as_json: AsJson = False,
) -> None:
    """Trust the rules that a project brings.

    They are in its neuraphage.toml, may only deny and ask, and hold for tasks that work in this directory. Workers of
    yours follow them from their next turn on. A changed file has to be trusted anew; until then what you trusted holds.
    """
    if list_all and (remove or directory is not None):
        raise BadInput("--list shows all that you trust; it goes with neither a directory nor --remove")
    if as_json and not list_all:
        raise BadInput("--json goes with --list")
    if list_all:
        _list(as_json=as_json)
        return
    refuse_inside_command("`neuraphage trust`")
    if remove:
        _remove(directory or Path())
    else:
        _trust(existing_dir(directory or Path(), "trust"))


def _trust(directory: str) -> None:
    from neuraphage.project_rules import refusals  # noqa: PLC0415 - only a change needs it
    from neuraphage.trusted_projects import trust as trust_project  # noqa: PLC0415 - as above
    from neuraphage.trusted_projects import trust_file  # noqa: PLC0415 - as above

    file, is_news = trust_project(trust_file(), directory)
    for text in refusals(file.refused):
        complain(f"{file.path}: {text}")
    count = f"{len(file.rules)} rule{'' if len(file.rules) == 1 else 's'}"
    out.print(harmless(f"{'trusted' if is_news else 'it is trusted already'}: {file.path}, {count}"))
    for rule in file.rules:
        out.print(harmless(f"  {rule}"))


def _remove(directory: Path) -> None:
    from neuraphage.trusted_projects import distrust, trust_file  # noqa: PLC0415 - only a change needs it

    if "\0" in str(directory):
        raise BadInput(f"trust {str(directory)!r}: a path holds no NUL character")
    place = str(directory.resolve())  # it may be gone by now
    distrust(trust_file(), place)
    out.print(harmless(f"trusted no longer: {place}"))


def _list(*, as_json: bool) -> None:
    from neuraphage.project_standing import standing_of  # noqa: PLC0415 - only a list needs it
    from neuraphage.trusted_projects import read_trusted, trust_file  # noqa: PLC0415 - as above

    path = trust_file()
    found = [(one, standing_of(one.directory, path)) for one in read_trusted(path)]
    if as_json:
        print_json([
            {"dir": one.directory, "sha256": one.sha256, "rules": list(map(str, one.rules)), "state": now.trust.value}
            for one, now in found
        ])  # fmt: skip
        return
    table = plain_table("dir", "rules", "state")
    for one, now in found:
        table.add_row(one_line(one.directory), str(len(one.rules)), now.trust.value)
    print_table(table)
    for _, now in found:
        for text in now.told():
            complain(text)
