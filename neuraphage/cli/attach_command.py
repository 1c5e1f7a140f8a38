"""`attach`: shows a task as it goes; `submit --follow` shows it in the same way."""

from __future__ import annotations

from typing import NoReturn

import typer

from neuraphage.api import Api
from neuraphage.cli.answer_lines import answer_commands
from neuraphage.cli.arguments import AsJson, TaskId
from neuraphage.cli.connection import connect
from neuraphage.cli.console import short_id
from neuraphage.cli.exit_codes import INTERRUPTED_EXIT, exit_code
from neuraphage.cli.follow import WorkerHint, follow, left_talking, scene, tell_end
from neuraphage.cli.hints import command_line, typed_here
from neuraphage.cli.json_lines import JsonLines
from neuraphage.decide.going_on import going_on
from neuraphage.model.task import Status, TaskRecord


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage attach 1dd199f3d80d")(attach)


def attach(task_id: TaskId, as_json: AsJson = False) -> None:
    """Show a task as it goes.

    Until it is over (exit 0 or 1). What it asks is asked in place on a terminal; elsewhere the command that answers
    is printed (exit 3). In a conversation your lines are messages; /end or Ctrl-D leaves it (exit 0). Ctrl-C
    detaches; the task goes on. With --json: one JSON document a line.
    """
    with connect() as api:
        follow_task(api, api.find(task_id), as_json=as_json)


def follow_task(api: Api, full_id: str, *, as_json: bool) -> NoReturn:
    """Show a task until it rests, and exit as it stands then.

    Args:
        api: where it is.
        full_id: the task's whole id.
        as_json: one JSON document a line.
    """
    shown = scene(api, full_id, as_json=as_json)
    if isinstance(shown.show, JsonLines):
        shown.show.begin(full_id)
    try:
        record = follow(api, full_id, shown, on_round=WorkerHint(shown.show).look)
    except KeyboardInterrupt:
        if shown.viewer is not None:
            shown.viewer.interrupted()
        shown.show.line("detached; the task goes on", "dim")
        raise typer.Exit(INTERRUPTED_EXIT) from None
    tell_end(shown, record, _next_commands)
    raise typer.Exit(0 if left_talking(shown, record) else exit_code(record.status))


def _next_commands(record: TaskRecord) -> list[str]:
    if record.status is Status.PAUSED:
        return [f"paused; go on with: {command_line('resume', short_id(record.task_id))}"]
    if record.status is Status.FAILED:
        return [typed_here(going_on(record))]
    return answer_commands(record)
