"""Commands about tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from neuraphage.cli.console import dollars, harmless, local_time, out, print_json
from neuraphage.cli.follow import Viewer, follow, show_prompt
from neuraphage.client import Client
from neuraphage.dev.stack_file import settings_of_running_stack
from neuraphage.errors import BadInput
from neuraphage.model.task import CompletedDetail, FailedDetail, Status, TaskRecord
from neuraphage.settings import Settings

TaskId = Annotated[str, typer.Argument(help="Task id, or a unique part of its beginning or end.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document.")]
WAITING_EXIT = 3


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (submit, attach, answer, send, show, pause, resume, cancel, retry):
        app.command()(command)
    app.command("list")(list_tasks)


def connect() -> Client:
    """A client of the running stack.

    Raises:
        StackError: none is running and none is named.
    """
    return Client(settings_of_running_stack(Settings()))


def submit(
    prompt: Annotated[str, typer.Argument(help="What to do.")],
    directory: Annotated[Path | None, typer.Option("--dir", help="Directory that the tools work in.")] = None,
    allow: Annotated[
        list[str] | None, typer.Option(help="A tool that needs no asking; may be repeated; '*' for all.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model id.")] = None,
    max_turns: Annotated[int | None, typer.Option(help="Limit of turns.", min=0)] = None,
    max_cost: Annotated[float | None, typer.Option(help="Limit of money, dollars.", min=0)] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: a repeat finds the first task.")] = None,
) -> None:
    """Submit a task to the running stack and print its id.

    Every tool with side effects asks first, unless it is allowed.
    """
    working_dir = None
    if directory is not None:
        if not directory.is_dir():
            raise BadInput(f"--dir {directory}: there is no such directory")
        working_dir = str(directory.resolve())
    with connect() as client:
        task_id = client.submit(
            prompt,
            working_dir=working_dir,
            allow=allow or (),
            model=model,
            max_turns=max_turns,
            max_cost_usd=max_cost,
            key=key,
        )
    out.print(task_id, markup=False)


def attach(task_id: TaskId) -> None:
    """Show a task as it goes, until it is over (exit 0 or 1) or waits for you (exit 3)."""
    with connect() as client:
        full_id = client.find(task_id)
        viewer = Viewer(out)
        record = follow(client, full_id, viewer)
        for prompt in record.prompts:
            show_prompt(viewer, record, prompt)
        if record.status is Status.PAUSED:
            viewer.line(f"paused; go on with: neuraphage resume {full_id}", "dim")
    codes = {Status.COMPLETED: 0, Status.WAITING_FOR_USER: WAITING_EXIT, Status.PAUSED: WAITING_EXIT}
    raise typer.Exit(codes.get(record.status, 1))


def answer(
    task_id: TaskId,
    text: Annotated[str, typer.Argument(help="The answer; for a permission: yes, no, always or never.")],
    prompt: Annotated[str | None, typer.Option(help="Which prompt, when several are open.")] = None,
) -> None:
    """Answer what a task has asked."""
    with connect() as client:
        client.answer(task_id, text, prompt_id=prompt)
    out.print("answered")


def send(task_id: TaskId, text: Annotated[str, typer.Argument(help="A message to the model.")]) -> None:
    """Send a message to a task; the model reads it with its next request."""
    with connect() as client:
        client.send(task_id, text)
    out.print("sent")


def list_tasks(
    status: Annotated[list[Status] | None, typer.Option(help="Only these statuses; may be repeated.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """List tasks, newest first."""
    with connect() as client:
        records = client.list(*(status or ()), limit=limit)
    if as_json:
        print_json([record.model_dump(mode="json") for record in records])
        return
    if not records:
        out.print('no tasks yet; submit one with: neuraphage submit "..." --dir .', markup=False)
        return
    table = Table("task", "status", "turns", "cost", "created", "name")
    for record in records:
        table.add_row(
            record.task_id,
            record.status.value,
            str(record.counters.iteration),
            dollars(record.counters.cost_microusd),
            local_time(record.created_at_ms),
            harmless(record.spec.name),
        )
    out.print(table)


def show(task_id: TaskId, as_json: AsJson = False) -> None:
    """Show one task: status, marker, counters, journal, open prompts, last messages."""
    with connect() as client:
        record = client.get(task_id)
        journal = client.journal(record.task_id)
        entries = list(client.conversation(record.task_id))[-4:]
    if as_json:
        plain = record.model_dump(mode="json")
        plain["journal"] = {key: entry.model_dump(mode="json") for key, entry in journal.items()}
        plain["last_messages"] = entries
        print_json(plain)
        return
    for name, value in describe(record):
        out.print(harmless(f"{name:<12} {value}"))
    for key, entry in journal.items():
        out.print(harmless(f"journal      {key}: {entry.kind.value} {entry.tool or ''} {entry.state.value}"))
    for prompt in record.prompts:
        show_prompt(Viewer(out), record, prompt)


def describe(record: TaskRecord) -> list[tuple[str, str]]:
    """Lines about one task."""
    counters = record.counters
    lines = [
        ("task", record.task_id),
        ("name", record.spec.name),
        ("status", record.status.value + (f" in {record.place}" if record.place else "")),
        ("marker", record.marker.name.value),
        ("turns", f"{counters.iteration} of at most {record.spec.limits.max_turns}"),
        ("tokens", f"{counters.tokens_used}"),
        ("cost", f"{dollars(counters.cost_microusd)} of {dollars(record.spec.limits.max_cost_microusd)}"),
        ("replies", f"{counters.model_calls} committed, {counters.model_resends} sent again"),
        ("recoveries", f"{counters.recoveries_total}"),
        ("saved", local_time(record.saved_at_ms)),
    ]
    match record.detail:
        case CompletedDetail():
            lines.append(("summary", record.detail.summary))
        case FailedDetail():
            lines.append(("error", record.detail.error))
    return lines


def pause(task_id: TaskId) -> None:
    """Stop a task after the step in hand, until it is resumed."""
    with connect() as client:
        client.pause(task_id)
    out.print(f"pausing; go on with: neuraphage resume {task_id}", markup=False)


def resume(task_id: TaskId) -> None:
    """Go on with a paused task."""
    with connect() as client:
        client.resume(task_id)
    out.print("resumed")


def cancel(task_id: TaskId, reason: Annotated[str, typer.Option(help="Why, for the record.")] = "") -> None:
    """End a task; what it runs is stopped."""
    with connect() as client:
        client.cancel(task_id, reason=reason)
    out.print("cancelling")


def retry(task_id: TaskId) -> None:
    """Go on with a failed task from where it stopped."""
    with connect() as client:
        client.retry(task_id)
    out.print("retrying")
