"""`locks`: who holds what, who waits for it, and breaking one."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import connect, connect_to_read
from neuraphage.cli.console import hint, one_line, out, plain_table, print_json, print_table, short_id
from neuraphage.cli.hints import command_line
from neuraphage.decide.duration import duration

Resource = Annotated[str, typer.Argument(metavar="RESOURCE", help="What is locked, as `locks` names it.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    locks = typer.Typer(
        help="Show who holds what, and who waits for it; or break a lock.",
        epilog="Example: neuraphage locks",
        invoke_without_command=True,
        rich_markup_mode=None,
    )
    locks.callback()(show)
    locks.command("break", epilog="Example: neuraphage locks break file:/home/me/shop/basket.py")(break_lock)
    app.add_typer(locks, name="locks")


def show(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show every resource that tasks hold or wait for: holders first, then those who wait, in their order."""
    if ctx.invoked_subcommand is not None:
        return
    with connect_to_read() as api:
        found = api.locks()
    if as_json:
        print_json([resource.model_dump(mode="json") for resource in found])
        return
    if not found:
        out.print("no task holds a lock or waits for one")
        return
    now_ms = time.time_ns() // 1_000_000
    table = plain_table("resource", "task", "", "mode", "for")
    for resource in found:
        for line in resource.lines:
            since = duration(max(0, now_ms - line.since_ms))
            table.add_row(one_line(resource.resource), short_id(line.task_id), line.state.value, line.mode.value, since)
    print_table(table)
    waited_for = [one.lines[0] for one in found if len({line.state for line in one.lines}) > 1]  # holders come first
    for line in waited_for[:1]:
        hint(f"{command_line('why', short_id(line.task_id))}  # what it is at that others wait for")


def break_lock(resource: Resource) -> None:
    """Take a lock away from the tasks that have it: the next one that waits for it begins.

    What they do goes on, so two tasks may then be at work on the same thing. Their history tells who did it.
    """
    with connect() as api:
        holders = api.break_lock(resource)
    out.print(f"taken from {', '.join(map(short_id, holders))}")
