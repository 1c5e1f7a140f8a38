"""`neuraphage events`: the history of a task, line by line, resumable after any of them."""

from __future__ import annotations

from typing import Annotated

import typer

from neuraphage.api import FIRST_EVENT
from neuraphage.api.transcript import Transcript
from neuraphage.cli.arguments import AsJson, TaskId
from neuraphage.cli.connection import connect, connect_to_read
from neuraphage.cli.console import harmless, hint, local_time, print_wrapped
from neuraphage.cli.event_text import STYLES
from neuraphage.cli.hints import typed_here
from neuraphage.cli.json_lines import JsonLines
from neuraphage.cli.told_calls import told
from neuraphage.cli.traits import traits_of
from neuraphage.model.event import Event


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage events 1dd199f3d80d --follow --json")(events)


def events(
    task_id: TaskId,
    after: Annotated[str, typer.Option(help="Only what came after this event id.")] = FIRST_EVENT,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the task is over.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what happened to a task, oldest first.

    Each line begins with its event id; --after ID goes on behind it. With --json: one JSON document a line.
    """
    lines, found = JsonLines(), False
    with connect() if follow else connect_to_read() as api:
        full_id = api.find(task_id)
        transcript = Transcript(lambda first: api.conversation(full_id, first=first), traits_of)
        for event in api.events(full_id, after=after, follow=follow):
            found = True
            if as_json:
                lines.show(event)
            else:
                _show(event, transcript)
        if not found and not as_json:
            hint(f"nothing after {after} yet; wait for it with --follow")


def _show(event: Event, transcript: Transcript) -> None:
    head = f"{event.event_id}  {local_time(event.at_ms)}  "
    text = typed_here(" ".join(told(event, transcript).split()))
    print_wrapped(harmless(f"{head}{text}", STYLES.get(event.kind, "")), "  ")
