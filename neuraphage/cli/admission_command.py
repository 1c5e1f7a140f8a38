"""`admission`: slots of tasks at work, and the line of those that wait for one."""

from __future__ import annotations

import typer

from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import connect_to_read
from neuraphage.cli.console import out, plain_table, print_json, print_table
from neuraphage.model.admission import ALL_TASKS


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("admission", epilog="Example: neuraphage admission")(admission)


def admission(as_json: AsJson = False) -> None:
    """Show the slots of tasks at work, and who waits for one.

    Limits are the settings max_running and label_max_running of the workers (docs/admission.md).
    """
    with connect_to_read() as api:
        found = api.admission()
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    if not found.pools and not found.parts:
        out.print("nothing limits how many tasks are at work")
        return
    slots = plain_table("slots of", "at work", "most")
    for pool in found.pools:
        name = "all tasks" if pool.name == ALL_TASKS else pool.name
        slots.add_row(name, str(pool.held), "-" if pool.most is None else str(pool.most))
    print_table(slots)
    if not found.parts:
        out.print("nobody stands in line")
        return
    line = plain_table("priority", "key", "needs a slot of", "in line")
    for part in found.parts:
        line.add_row(str(part.priority), part.key or "-", ", ".join(part.pools) or "-", str(part.waiting))
    print_table(line)
