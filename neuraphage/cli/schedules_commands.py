"""`schedules`: tasks that are made again and again, at times of an expression of cron."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraphage.cli.allowing import Allow, AutoAllowSandboxed, allowed_by
from neuraphage.cli.arguments import (
    AsJson,
    Extra,
    Force,
    Labels,
    MaxCost,
    MaxTurns,
    Model,
    PermissionTimeout,
    TreeTurns,
    WhenUnknown,
    existing_dir,
    given_extra,
    labels_of,
    timeout_s,
)
from neuraphage.cli.connection import connect, connect_to_read
from neuraphage.cli.console import dollars, hint, one_line, out, plain_table, print_json, print_table, short_id
from neuraphage.cli.hints import command_line
from neuraphage.cli.new_task import check_new_task
from neuraphage.cli.task_commands import Directory
from neuraphage.cli.time_arguments import RunningFor, running_for
from neuraphage.decide.occurrences import zone_of
from neuraphage.model.schedule import TAG, Overlap
from neuraphage.model.task import OnUnknownOutcome

if TYPE_CHECKING:
    from neuraphage.model.schedule import Schedule

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule.")]
EXAMPLE = 'neuraphage schedules add nightly "30 2 * * mon-fri" "look for flaky tests" --dir ./my-project'


def register(app: typer.Typer) -> None:
    """Add the commands."""
    schedules = typer.Typer(
        help="Have tasks made again and again, at times.",
        epilog=f"Example: {EXAMPLE}",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    examples: dict[Callable[..., None], tuple[str, str]] = {
        add: ("add", EXAMPLE),
        list_all: ("list", "neuraphage schedules list"),
        show: ("show", "neuraphage schedules show nightly"),
        pause: ("pause", "neuraphage schedules pause nightly"),
        resume: ("resume", "neuraphage schedules resume nightly"),
        remove: ("remove", "neuraphage schedules remove nightly"),
    }
    for command, (name, example) in examples.items():
        schedules.command(name, epilog=f"Example: {example}")(command)
    app.add_typer(schedules, name="schedules")


def add(  # noqa: PLR0913, PLR0917 - options of a task; typer passes them by name
    name: Name,
    cron: Annotated[
        str, typer.Argument(metavar="CRON", help='Minute, hour, day, month and weekday: "30 2 * * mon-fri".')
    ],
    prompt: Annotated[str, typer.Argument(metavar="GOAL", help="What each task is to do.")],
    overlap: Annotated[
        Overlap,
        typer.Option(help="When its last task is not over: skip, or queue behind it (one).", case_sensitive=False),
    ] = Overlap.SKIP,
    zone: Annotated[
        str | None, typer.Option(help="Zone whose clocks it goes by, as Europe/Vienna; else this machine's.")
    ] = None,
    directory: Directory = None,
    allow: Allow = None,
    auto_allow_sandboxed: AutoAllowSandboxed = False,
    model: Model = None,
    extra: Extra = None,
    max_turns: MaxTurns = None,
    max_cost: MaxCost = None,
    max_tree_turns: TreeTurns = None,
    max_running_for: RunningFor = None,
    permission_timeout: PermissionTimeout = None,
    tag: Annotated[list[str] | None, typer.Option(help="A word for `list --tag`; may be repeated.")] = None,
    label: Labels = None,
    priority: Annotated[int, typer.Option(help="0 (critical) to 4 (low).", min=0, max=4)] = 2,
    system: Annotated[str, typer.Option(help="More text for the system prompt.")] = "",
    on_unknown_outcome: WhenUnknown = OnUnknownOutcome.TELL_MODEL,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Have a task made at each time of an expression.

    A worker of np.control makes them. Times at which none ran are made up for by one task.
    """
    check_new_task(prompt, model=model, max_turns=max_turns, max_cost=max_cost)
    fields: dict[str, Any] = {
        "working_dir": None if directory is None else existing_dir(directory),
        "allow": allowed_by(allow, sandboxed=auto_allow_sandboxed),
        "model": model,
        "extra": given_extra(extra),
        "max_turns": max_turns,
        "max_cost_usd": max_cost,
        "max_tree_turns": max_tree_turns,
        "max_running_for": running_for(max_running_for),
        "permission_timeout_s": timeout_s(permission_timeout),
        "tags": tag or (),
        "labels": labels_of(label),
        "priority": priority,
        "system": system,
        "on_unknown_outcome": on_unknown_outcome,
        "force": force,
    }
    with connect() as api:
        made = api.add_schedule(name, cron, prompt, overlap=overlap, zone=zone, **fields)
    if as_json:
        print_json(made.model_dump(mode="json"))
    else:
        out.print(f"{name}: first {_time(made, made.state.next_ms)}")


def list_all(as_json: AsJson = False) -> None:
    """List schedules by name, each with its next time."""
    with connect_to_read() as api:
        found = api.schedules()
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
        return
    if not found:
        hint(f"no schedules; add one with: {EXAMPLE}")
        return
    table = plain_table("schedule", "cron", "next", "tasks", "skipped", "goal")
    for one in found:
        due = "paused" if one.state.paused else _time(one, one.state.next_ms)
        goal = one_line(one.definition.spec.name)
        table.add_row(one.definition.name, one.definition.cron, due, str(one.state.made), str(one.state.skipped), goal)
    print_table(table)


def show(name: Name, as_json: AsJson = False) -> None:
    """Show one schedule: its times, its last task, and what its tasks are made of."""
    with connect_to_read() as api:
        found = api.schedule(name)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    definition, state = found.definition, found.state
    last = "none" if state.last_task is None else f"{short_id(state.last_task)}, of {_time(found, state.last_ms or 0)}"
    lines = {
        "cron": f"{definition.cron} ({definition.zone})",
        "next": "paused" if state.paused else _time(found, state.next_ms),
        "last task": last,
        "tasks": f"{state.made} made, {state.skipped} skipped while the last one was not over",
        "overlap": definition.overlap.value,
        "goal": one_line(definition.spec.prompt),
        "directory": definition.spec.working_dir or "none",
        "model": definition.spec.model,
        "limits": f"{definition.spec.limits.max_turns} turns, {dollars(definition.spec.limits.max_cost_microusd)}",
    }
    for title, text in lines.items():
        out.print(f"{title:<12} {text}")
    hint(f"{command_line('list', '--tag', TAG + name)}  # its tasks")


def pause(name: Name) -> None:
    """Have a schedule make no tasks until it is resumed; tasks that it has made go on."""
    with connect() as api:
        api.pause_schedule(name)
    out.print("paused")


def resume(name: Name) -> None:
    """Go on with a paused schedule from its next time on."""
    with connect() as api:
        api.resume_schedule(name)
        found = api.schedule(name)
    out.print(f"next {_time(found, found.state.next_ms)}")


def remove(name: Name) -> None:
    """Remove a schedule; tasks that it has made stay."""
    with connect() as api:
        api.remove_schedule(name)
    out.print("removed")


def _time(schedule: Schedule, at_ms: int) -> str:
    """A time by the clocks of the schedule's zone."""
    zone = zone_of(schedule.definition.zone)
    return datetime.fromtimestamp(at_ms / 1000, zone).strftime("%Y-%m-%d %H:%M %Z")
