"""`deps`: has tasks wait for tasks."""

from __future__ import annotations

from typing import Annotated

import typer

from neuraphage.cli.arguments import TaskId
from neuraphage.cli.completion import task_ids
from neuraphage.cli.connection import connect
from neuraphage.cli.console import out
from neuraphage.model.dependency import OnFailure
from neuraphage.model.task import Status

On = Annotated[
    str,
    typer.Argument(
        metavar="ON", help="The task that it waits for, by any unique part of its id.", autocompletion=task_ids
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    deps = typer.Typer(
        help="Have tasks wait for tasks.",
        epilog="Example: neuraphage deps add 1dd199f3d80d 7a2fb0c4e915",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    deps.command(epilog="Example: neuraphage deps add 1dd199f3d80d 7a2fb0c4e915 --on-failure skip")(add)
    deps.command(epilog="Example: neuraphage deps remove 1dd199f3d80d 7a2fb0c4e915")(remove)
    app.add_typer(deps, name="deps")


def add(
    task_id: TaskId,
    on: On,
    on_failure: Annotated[
        OnFailure,
        typer.Option(help="When that one fails or is cancelled: block (wait on), skip or go_on.", case_sensitive=False),
    ] = OnFailure.BLOCK,
) -> None:
    """Have a task wait until another one has ended.

    One that works already is paused first. A circle is refused.
    """
    with connect() as api:
        answer = api.add_dependency(task_id, on, on_failure=on_failure)
    _tell(answer.status)


def remove(task_id: TaskId, on: On) -> None:
    """Have a task wait for another one no more; the last one lets it begin."""
    with connect() as api:
        answer = api.remove_dependency(task_id, on)
    _tell(answer.status)


def _tell(status: Status | None) -> None:
    out.print(f"it is {status.value if status else 'gone'} now")
