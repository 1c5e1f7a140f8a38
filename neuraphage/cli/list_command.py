"""`list`: tasks by creation, filtered, sorted and paged."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraphage.cli.answer_lines import answer_command
from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import connect_to_read
from neuraphage.cli.console import (
    dollars,
    hint,
    minutes_here,
    offset_here,
    one_line,
    out,
    plain_table,
    print_json,
    print_table,
    short_id,
)
from neuraphage.cli.hints import command_line
from neuraphage.decide.asking import asks_line
from neuraphage.decide.line_text import place_text
from neuraphage.decide.selection import Selection, Sort
from neuraphage.errors import BadInput
from neuraphage.model.lock import LockState
from neuraphage.model.place import Place
from neuraphage.model.task import Status, TaskRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuraphage.api import Api
    from neuraphage.model.admission import LinePlace

PLACES_TOLD = 10
"""Tasks whose place in line a list tells; each costs a read."""
QUOTED_PROMPT = '"..."'
_AGE = re.compile(r"(\d{1,9})\s*([smhdw])")
_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list", epilog="Example: neuraphage list --status Running --newer 2h")(list_tasks)


def list_tasks(  # noqa: PLR0913, PLR0917 - every way to filter; typer passes them by name
    status: Annotated[
        list[Status] | None, typer.Option(help="Only these statuses; may be repeated.", case_sensitive=False)
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; repeated: with all of them.")] = None,
    name: Annotated[str, typer.Option(help="Only with this in their name.")] = "",
    text: Annotated[str, typer.Option(help="Only with this in name, request, summary or error.")] = "",
    newer: Annotated[str | None, typer.Option(help="Only created since: 90s, 15m, 2h, 3d, 1w.")] = None,
    older: Annotated[str | None, typer.Option(help="Only created longer ago than: 90s, 15m, 2h, 3d, 1w.")] = None,
    sort: Annotated[Sort, typer.Option(help="The order.", case_sensitive=False)] = Sort.CREATED,
    reverse: Annotated[bool, typer.Option("--reverse", help="Turn the order around.")] = False,
    ready: Annotated[bool, typer.Option("--ready", help="Only those that wait for nothing but a worker.")] = False,
    blocked: Annotated[bool, typer.Option("--blocked", help="Only those that wait for other tasks or a lock.")] = False,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=10_000)] = 50,
    page: Annotated[int, typer.Option(help="Which so many, from 1.", min=1, max=1_000_000)] = 1,
    as_json: AsJson = False,
) -> None:
    """List tasks, newest first.

    Several filters hold together. In a pipe the columns are parted by tabs, and what can be done next is told on
    standard error.
    """
    now_ms = time.time_ns() // 1_000_000
    selection = Selection(
        statuses=frozenset(
            (*(status or ()), *((Status.QUEUED,) if ready else ()), *((Status.BLOCKED,) if blocked else ()))
        ),
        tags=frozenset(tag or ()),
        name=name,
        text=text,
        created_after_ms=None if newer is None else now_ms - _age_ms("--newer", newer),
        created_before_ms=None if older is None else now_ms - _age_ms("--older", older),
        sort=sort,
        reverse=reverse,
    )
    with connect_to_read() as api:
        found = api.select(selection, skip=(page - 1) * limit, limit=limit + 1)
        records = found[:limit]
        if as_json:
            print_json([_as_json(api, record) for record in records])
            return
        places = _places(api, records)
    if not records and out.is_terminal:
        out.print(_nothing(selection, page))
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
    if not records:
        hint(_nothing(selection, page))
    for record in records:
        _waits(record, places.get(record.task_id))
    if len(found) > limit:
        hint(f"there are more: --page {page + 1}", "dim")


def _places(api: Api, records: Sequence[TaskRecord]) -> dict[str, LinePlace]:
    """Where the first few of those that wait for a slot stand in line."""
    waiting = [record.task_id for record in records if (record.status, record.place) == (Status.QUEUED, Place.WAITS)]
    found = ((task_id, api.line_place(task_id)) for task_id in waiting[:PLACES_TOLD])
    return {task_id: place for task_id, place in found if place is not None}


def _waits(record: TaskRecord, place: LinePlace | None) -> None:
    """What a task waits for that somebody can do something about."""
    for prompt in record.prompts if record.status is Status.WAITING_FOR_USER else ():
        hint(f"{answer_command(record, prompt)}  # {asks_line(prompt)}")
    if record.locks is not None and record.locks.state is LockState.WAITING:
        hint(f"{short_id(record.task_id)} waits for {short_id(record.locks.holder_task)}: {record.locks.resource}")
    if place is not None:
        hint(f"{short_id(record.task_id)}: {place_text(place)}")
    if record.starts_at_ms is not None:
        hint(f"{short_id(record.task_id)} starts at {minutes_here(record.starts_at_ms)}")


def _as_json(api: Api, record: TaskRecord) -> dict[str, Any]:
    """As `show --json` has it: open prompts with all of what they ask."""
    from neuraphage.cli.json_lines import with_prompts  # noqa: PLC0415 - the table needs no conversation

    return with_prompts(record, api.shown_prompts(record))


def _age_ms(option: str, text: str) -> int:
    found = _AGE.fullmatch(text.strip().lower())
    if found is None:
        raise BadInput(f"{option} {text!r} is no time; write a whole number and a unit: 90s, 15m, 2h, 3d or 1w")
    return int(found[1]) * _UNITS_S[found[2]] * 1_000


def _nothing(selection: Selection, page: int) -> str:
    if page > 1:
        return f"there is no page {page}; see the first with: {command_line('list')}"
    if selection == Selection(statuses=selection.statuses) and selection.statuses:
        named = " or ".join(status.value for status in Status if status in selection.statuses)
        return f"no tasks are {named}; see all with: {command_line('list')}"
    if selection != Selection(sort=selection.sort, reverse=selection.reverse):
        return f"no tasks fit all of that; see all with: {command_line('list')}"
    return f"no tasks; submit one with: {command_line('submit', QUOTED_PROMPT, '--dir', '.')}"
