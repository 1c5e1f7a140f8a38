"""`answer`: shows what a task asks, and answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from neuraphage.api import Api
from neuraphage.cli.answer_lines import answer_command as command_of
from neuraphage.cli.answer_lines import permissions_of
from neuraphage.cli.arguments import TaskId
from neuraphage.cli.changed_files import tell_changed
from neuraphage.cli.connection import connect
from neuraphage.cli.console import complain, harmless, out, print_wrapped, short_id, shortened
from neuraphage.cli.exit_codes import WAITING_EXIT
from neuraphage.cli.prompts import is_listed_whole, show_open_prompt
from neuraphage.cli.text_input import Edit, TextFile, given_text
from neuraphage.cli.viewer import Viewer
from neuraphage.decide.answers import allows
from neuraphage.decide.asking import asks_line, meant, named, short_prompt_id
from neuraphage.errors import BadInput
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord

Seen = Annotated[bool, typer.Option("--seen", help="I have seen all of a call that is too long for a listing.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: neuraphage answer 1dd199f3d80d 3fa2b7c1 yes")(answer)


def answer(
    task_id: TaskId,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROMPT]... [ANSWER]",
            help="Which prompts, by id or its beginning, and the answer to them; - reads it from standard input.",
        ),
    ] = None,
    prompt: Annotated[list[str] | None, typer.Option(help="Which prompt; may be repeated.")] = None,
    file: TextFile = None,
    edit: Edit = False,
    seen: Seen = False,
) -> None:
    """Answer what a task asks.

    Without an answer: show all of what it asks, nothing left out (exit 3 if something is open).

    A permission takes yes, no, always or never, 'no: WORDS' which the model is told, 'always: PATTERN' for such calls
    of the task ('always here: PATTERN' of this directory, 'always me: PATTERN' of all tasks), or 'edit: {JSON}' with
    other parameters, and is answered by its prompt's id only. A question takes one of its options or its number, or
    any text; it needs no id when nothing else is open.
    """
    given = list(words or ())
    has_argument = bool(given) and file is None and not edit
    argument = given.pop() if has_argument else None
    wanted = [*given, *(prompt or ())]
    with connect() as api:
        record = api.get(task_id)
        if argument is None and file is None and not edit:
            raise typer.Exit(show_all(api, record, wanted))
        about = "\n".join(asks_line(one) for one in record.prompts)
        text = given_text("the answer", argument, file, edit=edit, about=about)
        count = send_answer(api, record, wanted, text, seen=seen)
    out.print("answered" if count == 1 else f"answered {count} prompts")


def show_all(api: Api, record: TaskRecord, wanted: Sequence[str]) -> int:
    """Show open prompts, nothing of them left out, each with the command that answers it.

    Args:
        api: reads.
        record: of the task.
        wanted: ids of prompts; all that are open when none is given.
    """
    every = {one.prompt.prompt_id: one for one in api.shown_prompts(record)}
    chosen = [one for part in wanted for one in named(record.prompts, part)] if wanted else record.prompts
    prompts = [every[one.prompt_id] for one in chosen]
    if not prompts:
        by = f" by {', '.join(wanted)}" if wanted else ""
        print_wrapped(harmless(shortened(f"{short_id(record.task_id)} asks nothing{by}")), "  ")
        return 0
    viewer = Viewer(out)
    for shown in prompts:
        show_open_prompt(viewer, record, shown, whole=True)
    if len(permissions_of(record)) > 1 and not wanted:
        viewer.line(f"  all alike: {command_of(record, *permissions_of(record))}", "dim")
    return WAITING_EXIT


def send_answer(api: Api, record: TaskRecord, wanted: Sequence[str], text: str, *, seen: bool) -> int:
    """Give prompts one answer: all of them, or none when one is not open or takes no such answer.

    Args:
        api: sends.
        record: of the task.
        wanted: ids of prompts; none for the only question that is open.
        text: the answer.
        seen: whether the person says to have seen all of what a listing shortens.

    Returns:
        How many were answered.

    Raises:
        BadInput, PromptNotOpen, IllegalMove: see `People.answer`; or a call was not shown in full.
    """
    found = [(part, named(record.prompts, part)) for part in wanted]
    chosen = [fitting[0] for _, fitting in found if len(fitting) == 1]
    if len(chosen) < len(wanted) or not wanted:  # the service finds the only one, or says what is open
        failing = next((part for part, fitting in found if len(fitting) != 1), None)
        api.answer(record.task_id, text, prompt_id=failing)
        return 1
    prompts = list({one.prompt_id: one for one in chosen}.values())
    if any(allows(one, meant(one, text)) for one in prompts):
        if not seen:
            _refuse_unseen(api, record, prompts)
        tell_changed(api, record, prompts, complain)
    for one in prompts:
        api.answer(record.task_id, text, prompt_id=one.prompt_id)
    return len(prompts)


def _refuse_unseen(api: Api, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
    """A call that no listing shows in full needs a word of the person that it was seen."""
    cut = [one.prompt for one in api.shown_prompts(record) if one.prompt in prompts and not is_listed_whole(one)]
    if cut:
        names, short = " and ".join(short_prompt_id(one) for one in cut), short_id(record.task_id)
        raise BadInput(
            f"{names} is too long for a listing: see all of it with `neuraphage answer {short}`, "
            "then add --seen to this command"
        )
