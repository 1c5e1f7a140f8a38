"""Commands that people send to tasks: submit, send, pause, resume, cancel, retry, limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuraphage.cli.allowing import Allow, AutoAllowSandboxed, allowed_by, hint_at_misspelt
from neuraphage.cli.arguments import (
    After,
    AnyCost,
    AnyTurns,
    AsJson,
    Attach,
    Extra,
    Force,
    Labels,
    MaxCost,
    MaxTurns,
    Model,
    PermissionTimeout,
    TaskId,
    TaskMode,
    TreeTurns,
    WhenUnknown,
    dependencies_of,
    existing_dir,
    given_extra,
    labels_of,
    timeout_s,
)
from neuraphage.cli.batch_submit import submit_batch
from neuraphage.cli.connection import connect
from neuraphage.cli.console import dollars, harmless, out, print_json, print_wrapped, short_id
from neuraphage.cli.hints import command_line, typed_here
from neuraphage.cli.new_task import check_limits, check_new_task, tell_first
from neuraphage.cli.text_input import Edit, TextFile, given_text
from neuraphage.cli.time_arguments import RunningFor, StartsAt, running_for, start_of
from neuraphage.decide.duration import duration
from neuraphage.decide.going_on import going_on, when_read
from neuraphage.errors import BadInput
from neuraphage.model.some import some
from neuraphage.model.task import TERMINAL, Mode, OnUnknownOutcome

if TYPE_CHECKING:
    from neuraphage.api import Api


def register(app: typer.Typer) -> None:
    """Add the commands."""
    examples: dict[Callable[..., None], str] = {
        submit: 'neuraphage submit "make the failing tests pass" --dir ./my-project --allow run_command',
        send: 'neuraphage send 1dd199f3d80d "use tabs, please"',
        pause: "neuraphage pause 1dd199f3d80d",
        resume: "neuraphage resume 1dd199f3d80d",
        cancel: 'neuraphage cancel 1dd199f3d80d --reason "no longer needed"',
        retry: "neuraphage retry 1dd199f3d80d --max-turns 100",
        limit: "neuraphage limit 1dd199f3d80d --max-turns 100 --max-cost 20",
        model: 'neuraphage model 1dd199f3d80d expert --reason "it goes round in circles"',
    }
    for command, example in examples.items():
        app.command(epilog=f"Example: {example}")(command)


Directory = Annotated[
    Path | None, typer.Option("--dir", help="Directory that the tools work in; without it they have no files.")
]


FromFile = Annotated[
    Path | None,
    typer.Option(
        "--from", help="Submit many: a file with one task a line, as JSON; see docs/graph.md.", metavar="<file>"
    ),
]


def submit(  # noqa: PLR0913, PLR0917 - every option of a task; typer passes them by name
    ctx: typer.Context,
    prompt: Annotated[str | None, typer.Argument(help="What to do; - reads it from standard input.")] = None,
    directory: Directory = None,
    allow: Allow = None,
    auto_allow_sandboxed: AutoAllowSandboxed = False,
    model: Model = None,
    extra: Extra = None,
    max_turns: MaxTurns = None,
    max_cost: MaxCost = None,
    max_tree_turns: TreeTurns = None,
    max_running_for: RunningFor = None,
    mode: TaskMode = None,
    permission_timeout: PermissionTimeout = None,
    name: Annotated[str | None, typer.Option(help="A name for lists, in place of the prompt's first words.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A word for `list --tag`; may be repeated.")] = None,
    label: Labels = None,
    priority: Annotated[int, typer.Option(help="0 (critical) to 4 (low).", min=0, max=4)] = 2,
    system: Annotated[str, typer.Option(help="More text for the system prompt.")] = "",
    on_unknown_outcome: WhenUnknown = OnUnknownOutcome.TELL_MODEL,
    key: Annotated[str | None, typer.Option(help="Idempotency key: a repeat finds the first task.")] = None,
    file: TextFile = None,
    attach: Attach = None,
    after: After = None,
    at: StartsAt = None,
    from_file: FromFile = None,
    force: Force = False,
    follow_it: Annotated[bool, typer.Option("--follow", "-f", help="Show it as it goes, as `attach` does.")] = False,
    as_json: AsJson = False,
) -> None:
    """Submit a task and print its id.

    Every tool with side effects asks first, unless it is allowed. A task stops at 50 turns or $10. With --from many
    tasks are submitted at once.
    """
    if from_file is not None:
        submit_batch(ctx, from_file)
        return
    text = given_text("the prompt", prompt, file)
    check_new_task(text, model=model, max_turns=max_turns, max_cost=max_cost, name=name)
    _check_words(tag or (), allow or ())
    working_dir, wait_s = None if directory is None else existing_dir(directory), timeout_s(permission_timeout)
    shown: dict[str, Any] = {"name": name, "tags": tag or (), "labels": labels_of(label), "priority": priority}
    shown |= {"blocked_by": dependencies_of(after), "at": start_of(at), "extra": given_extra(extra)}
    shown |= {"max_tree_turns": max_tree_turns, "max_running_for": running_for(max_running_for)}
    with connect() as api:
        tell_first(api, model, attach)
        task_id = api.submit(
            text,
            working_dir=working_dir,
            allow=allowed_by(allow, sandboxed=auto_allow_sandboxed),
            model=model,
            max_turns=max_turns,
            max_cost_usd=max_cost,
            mode=mode or Mode.AUTONOMOUS,
            permission_timeout_s=wait_s,
            **shown,
            system=system,
            on_unknown_outcome=on_unknown_outcome,
            key=key,
            force=force,
            followed=follow_it,
            attachments=attach or (),
        )
        _tell_made(api, task_id, follow_it=follow_it, as_json=as_json)


def _check_words(tags: Iterable[str], allowed: list[str] | tuple[str, ...]) -> None:
    if any(not word.strip() for word in tags):
        raise BadInput("--tag is empty; give a word")
    hint_at_misspelt(allowed)


def _tell_made(api: Api, task_id: str, *, follow_it: bool, as_json: bool) -> None:
    if not follow_it or not as_json:  # what follows in JSON begins with the id itself
        _print_id(task_id, as_json=as_json)
    if not follow_it:
        return
    from neuraphage.cli.attach_command import follow_task  # noqa: PLC0415 - see command_table.py

    follow_task(api, task_id, as_json=as_json)


def _print_id(task_id: str, *, as_json: bool) -> None:
    if not as_json:
        out.print(task_id)
        return
    from neuraphage.cli.json_lines import named  # noqa: PLC0415 - see command_table.py

    print_json(named(task_id), None)


def send(
    task_id: TaskId,
    text: Annotated[str | None, typer.Argument(help="A message to the model; - reads it from standard input.")] = None,
    file: TextFile = None,
    edit: Edit = False,
    attach: Attach = None,
) -> None:
    """Send a message to the model of a task.

    It is read with the next request. A completed task goes on with it, in the same conversation.
    """
    message = given_text("the message", text, file, edit=edit)
    with connect() as api:
        full_id = api.find(task_id)
        if attach:
            tell_first(api, api.get(full_id).choice.model, attach)
        api.send(full_id, message, attachments=attach or ())
        print_wrapped(harmless(typed_here(f"sent; {when_read(api.get(full_id))}")), "  ")


def pause(task_id: TaskId) -> None:
    """Stop a task after the step in hand, until it is resumed."""
    with connect() as api:
        full_id = api.find(task_id)
        api.pause(full_id)
    out.print(f"pausing; go on with: {command_line('resume', short_id(full_id))}")


def resume(task_id: TaskId) -> None:
    """Go on with a paused task."""
    with connect() as api:
        api.resume(task_id)
    out.print("resumed")


def cancel(task_id: TaskId, reason: Annotated[str, typer.Option(help="Why, for the record.")] = "") -> None:
    """End a task; what it runs is stopped."""
    with connect() as api:
        api.cancel(task_id, reason=reason)
    out.print("cancelling")


def retry(
    task_id: TaskId,
    max_turns: MaxTurns = None,
    max_cost: MaxCost = None,
    max_running_for: RunningFor = None,
    reply: Annotated[
        bool,
        typer.Option("--reply", help="Ask the model again for its last reply, which it is not shown any more."),
    ] = False,
) -> None:
    """Go on with a failed task from where it stopped.

    With a higher limit if it has reached one. With --reply, one that waits for your message or is completed: its last
    reply is superseded. What tools did stays.
    """
    check_limits(max_turns, max_cost)
    longest_s = running_for(max_running_for)
    if reply and (max_turns, max_cost, longest_s) != (None, None, None):
        raise BadInput("--reply sets no limits; `neuraphage limit` does")
    with connect() as api:
        if reply:
            api.retry_reply(task_id)
            out.print("asking again")
            return
        api.retry(task_id, max_turns=max_turns, max_cost_usd=max_cost, max_running_for=longest_s)
    out.print("retrying")


def limit(
    task_id: TaskId,
    max_turns: AnyTurns = None,
    max_cost: AnyCost = None,
    max_tree_turns: TreeTurns = None,
    max_running_for: RunningFor = None,
) -> None:
    """Set the limits of a task, from its next model call on.

    Turns are those of one piece of work: from the start, or from your message to a task that was completed or waited
    for one. Money is that of the whole task, and so is the time that workers have it.
    """
    longest_s = running_for(max_running_for)
    with connect() as api:
        full_id = api.find(task_id)
        most: dict[str, Any] = {"max_turns": max_turns, "max_cost_usd": max_cost, "max_tree_turns": max_tree_turns}
        api.limit(full_id, **most, max_running_for=longest_s)
        record = api.get(full_id)
    limits, tree = record.limits, ""
    if limits.max_tree_turns is not None:
        tree = f"; with its subtasks at most {some(limits.max_tree_turns, 'turn')}"
    if limits.max_running_ms is not None:
        tree += f"; {duration(limits.max_running_ms)} at work"
    out.print(f"at most {some(limits.max_turns, 'turn')} and {dollars(limits.max_cost_microusd)}{tree}")
    if record.status in TERMINAL:
        print_wrapped(harmless(typed_here(f"it is {record.status.value}; {going_on(record)}")), "  ")


def model(
    task_id: TaskId,
    to: Annotated[str, typer.Argument(metavar="MODEL", help="Model id, or the name of a tier: cheap, worker, expert.")],
    reason: Annotated[str, typer.Option(help="Why, for the history.")] = "",
) -> None:
    """Set which model a task calls, from its next request on."""
    with connect() as api:
        full_id = api.find(task_id)
        api.set_model(full_id, to, reason=reason)
        record = api.get(full_id)
    out.print(harmless(f"calls {record.choice.model}"))
    if record.status in TERMINAL:
        print_wrapped(harmless(typed_here(f"it is {record.status.value}; {going_on(record)}")), "  ")
