"""`list`: tasks by creation, filtered, sorted and paged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraphage.cli.answer_lines import answer_command
from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import connect
from neuraphage.cli.console import (
    dollars,
    harmless,
    minutes_here,
    offset_here,
    one_line,
    out,
    plain_table,
    print_json,
    print_table,
    print_wrapped,
    short_id,
)
from neuraphage.cli.hints import command_line
from neuraphage.decide.asking import asks_line
from neuraphage.model.task import Status, TaskRecord

if TYPE_CHECKING:
    from neuraphage.client import Client

QUOTED_PROMPT = '"..."'


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list", epilog="Example: neuraphage list --status Running --status WaitingForUser")(list_tasks)


def list_tasks(
    status: Annotated[
        list[Status] | None, typer.Option(help="Only these statuses; may be repeated.", case_sensitive=False)
    ] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """List tasks, newest first."""
    with connect() as client:
        records = client.list(*(status or ()), limit=limit)
        if as_json:
            print_json([_as_json(client, record) for record in records])
            return
    if not records:
        out.print(_nothing(status))
        return
    table = plain_table("task", "status", "turns", "cost", f"created {offset_here()}", "name")
    for number in (2, 3):
        table.columns[number].justify = "right"
    for record in records:
        table.add_row(
            short_id(record.task_id),
            record.status.value,
            str(record.counters.iteration),
            dollars(record.counters.cost_microusd),
            minutes_here(record.created_at_ms),
            one_line(record.spec.name),
        )
    print_table(table)
    for record in records:
        for prompt in record.prompts if record.status is Status.WAITING_FOR_USER else ():
            print_wrapped(harmless(f"{answer_command(record, prompt)}  # {asks_line(prompt)}"), "  ")


def _as_json(client: Client, record: TaskRecord) -> dict[str, Any]:
    """As `show --json` has it: open prompts with all of what they ask."""
    from neuraphage.cli.json_lines import with_params  # noqa: PLC0415 - the table needs no conversation
    from neuraphage.cli.transcript import Transcript  # noqa: PLC0415 - as above

    return with_params(record, Transcript(lambda first: client.conversation(record.task_id, first=first)))


def _nothing(statuses: list[Status] | None) -> str:
    if statuses:
        named = " or ".join(status.value for status in statuses)
        return f"no tasks are {named}; see all with: {command_line('list')}"
    return f"no tasks; submit one with: {command_line('submit', QUOTED_PROMPT, '--dir', '.')}"
