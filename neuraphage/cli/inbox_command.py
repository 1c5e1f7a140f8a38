"""`inbox`: what all tasks ask, one after the other, answered in place on a terminal and listed elsewhere."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from neuraphage.api import Api
from neuraphage.api.inbox import INBOX_PROMPTS, MOST_INBOX_PROMPTS
from neuraphage.cli.arguments import AsJson
from neuraphage.cli.connection import connect, connect_to_read
from neuraphage.cli.console import hint, hints, local_time, out, print_json, short_id
from neuraphage.cli.hints import command_line
from neuraphage.cli.json_lines import prompt_json
from neuraphage.cli.line_reader import person_here
from neuraphage.cli.prompts import show_open_prompt
from neuraphage.cli.viewer import Viewer
from neuraphage.decide.seen_text import spelled
from neuraphage.model.shown import OpenPrompt
from neuraphage.model.task import Status

NAME_CHARS = 100
"""Of a task's name above its prompt."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage inbox")(inbox)


def inbox(
    limit: Annotated[
        int, typer.Option(help="At most so many at a time.", min=1, max=MOST_INBOX_PROMPTS)
    ] = INBOX_PROMPTS,
    listing: Annotated[bool, typer.Option("--list", help="List them, and ask nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what all tasks ask, and answer it.

    The most urgent first: by priority, then the longest waiting; conversations come last. On a terminal each is asked
    in place, with the keys of `run`: y, n, always, never, v, s to skip it, q to leave. Elsewhere they are listed, with
    the commands that answer.
    """
    person = None if listing or as_json else person_here()
    if person is not None:
        from neuraphage.cli.inbox_session import InboxSession  # noqa: PLC0415 - a listing asks nobody

        with connect() as api:
            raise typer.Exit(InboxSession(api, Viewer(out), person, limit).run())
    with connect_to_read() as api:
        if as_json:
            print_json(_as_json(api, limit))
        else:
            _list(api, limit)


def _list(api: Api, limit: int) -> None:
    found = api.inbox(limit=limit)
    apart = None if out.is_terminal else Viewer(hints())
    for entry in found.prompts:
        Viewer(out).line(heading(entry), "bold")
        show_open_prompt(Viewer(out), entry.record, entry.shown, whole=False, hints=apart)
    if not found.prompts:
        hint("no task asks anything")
    if not found.is_whole:
        hint(f"there are more: {command_line('inbox', '--limit', str(min(2 * limit, MOST_INBOX_PROMPTS)))}", "dim")


def heading(entry: OpenPrompt) -> str:
    """Which task asks, since when, and what is to be known of it."""
    record = entry.record
    name = " ".join(spelled(record.spec.name).split())
    name = name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 4] + " ..."
    state = ", paused" if record.status is Status.PAUSED else ""
    since = f"asked {local_time(entry.prompt.opened_at_ms)}"
    path = "".join(f"{short_id(one)} > " for one in entry.above)
    return f"task {path}{short_id(record.task_id)}, priority {record.spec.priority}{state}, {since}: {name}"


def _as_json(api: Api, limit: int) -> dict[str, Any]:
    found = api.inbox(limit=limit)
    return {"prompts": [_prompt(entry) for entry in found.prompts], "is_whole": found.is_whole}


def _prompt(entry: OpenPrompt) -> dict[str, Any]:
    record = entry.record
    of_task = {
        "task_id": record.task_id,
        "task_name": record.spec.name,
        "above": list(entry.above),
        "status": record.status.value,
        "priority": record.spec.priority,
    }
    return {**of_task, **prompt_json(entry.shown)}
