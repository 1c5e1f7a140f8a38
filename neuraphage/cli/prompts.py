"""What a task asks, as a person reads it, and the commands that answer."""

from __future__ import annotations

from neuraphage.cli.answer_lines import answer_command
from neuraphage.cli.asked_text import Listing, listed
from neuraphage.cli.console import local_time, short_id
from neuraphage.cli.hints import command_line
from neuraphage.cli.traits import traits_of
from neuraphage.cli.viewer import Viewer
from neuraphage.decide.asking import meant, numbered, short_prompt_id
from neuraphage.decide.seen_text import spelled
from neuraphage.errors import BadInput
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.shown import CHANGED, UNREADABLE, ShownPrompt
from neuraphage.model.task import TaskRecord
from neuraphage.tool_wiring import proposed_rules

PERMISSION_DEFAULT = "no"
END_WORD = "/end"
"""What a person types to leave a conversation."""


def show_prompt(viewer: Viewer, shown: ShownPrompt, *, whole: bool = False, heading: str = "") -> bool:
    """What is asked, where, and what the answers are.

    Args:
        viewer: writes.
        shown: the question.
        whole: show all of the call, however long it is.
        heading: stands before the question.

    Returns:
        Whether all of it was shown.
    """
    prompt = shown.prompt
    show_question(viewer, shown, heading)
    if prompt.kind is PromptKind.CONVERSATION:
        return True
    listing = _listing(shown, whole=whole)
    viewer.quoted(listing.lines)
    for rule in () if listing.left_out else proposed(shown):  # of what was seen
        viewer.line(f"  always: {spelled(rule)}", "dim")
    show_answers(viewer, shown)
    if listing.left_out:
        viewer.line(f"  NOT SHOWN: {listing.left_out}", "yellow")
    return not listing.left_out


def show_question(viewer: Viewer, shown: ShownPrompt, heading: str = "") -> None:
    """The question itself, and where the call that it is about would run. See `show_prompt`."""
    prompt = shown.prompt
    if prompt.kind is PromptKind.CONVERSATION:
        viewer.line(f"? {heading}Your turn.", "bold")
        return
    words = f" ({'/'.join(prompt.options)})" if prompt.kind is PromptKind.PERMISSION else ""
    viewer.line(f"? {heading}{shown.question}{words}", "bold")
    if shown.lines and shown.working_dir:
        viewer.line(f"  in {shown.working_dir}")


def show_answers(viewer: Viewer, shown: ShownPrompt) -> None:
    """What stands below a call: what speaks against an answer, until when it is waited for, and options."""
    prompt = shown.prompt
    if shown.is_changed:
        viewer.line(f"  {CHANGED}", "yellow")
    if prompt.deadline_ms is not None:
        viewer.line(f"  no answer until {local_time(prompt.deadline_ms)} counts as {prompt.default_answer}", "dim")
    if prompt.kind is not PromptKind.PERMISSION:
        marks = [f"{n} =" if numbered(prompt.options) else "-" for n in range(1, len(prompt.options) + 1)]
        for mark, option in zip(marks, prompt.options, strict=True):
            viewer.line(f"  {mark} {spelled(option)}", "dim")


def proposed(shown: ShownPrompt) -> tuple[str, ...]:
    """Rules that a person may answer a permission with, behind `always: `."""
    prompt = shown.prompt
    if prompt.kind is not PromptKind.PERMISSION or prompt.tool is None or shown.params is None:
        return ()
    return proposed_rules(prompt.tool, traits_of(prompt.tool), shown.params, shown.directory)


def _listing(shown: ShownPrompt, *, whole: bool) -> Listing:
    if not shown.is_whole:
        return Listing(list(shown.lines), UNREADABLE)
    return Listing(list(shown.lines)) if whole else listed(shown.lines)


def is_listed_whole(shown: ShownPrompt) -> bool:
    """Whether a listing shows all of what a prompt asks."""
    return shown.prompt.kind is not PromptKind.PERMISSION or not _listing(shown, whole=False).left_out


def show_open_prompt(
    viewer: Viewer, record: TaskRecord, shown: ShownPrompt, *, whole: bool, hints: Viewer | None = None
) -> None:
    """One open prompt with the command that answers it, or that shows the rest of it; see `show_prompt`.

    Args:
        viewer: writes.
        record: of the task that asks.
        shown: the prompt.
        whole: show all of the call, however long it is.
        hints: writes these commands, where they stand apart from the prompt, which then names its id itself.
    """
    complete = show_prompt(viewer, shown, whole=whole)
    told, lead = hints or viewer, ""
    if hints is None:
        lead = "  "
    else:
        viewer.line(f"  prompt {short_prompt_id(shown.prompt)}")
    if not complete:
        told.line(f"{lead}all of it: {command_line('answer', short_id(record.task_id))}", "dim")
    told.line(f"{lead}{answer_command(record, shown.prompt)}", "dim")


def leaves(prompt: Prompt, typed: str) -> bool:
    """Whether a person's line is no message, but says that they leave the conversation."""
    return prompt.kind is PromptKind.CONVERSATION and typed.strip() == END_WORD


def meant_here(prompt: Prompt, typed: str) -> str:
    """The answer that a line typed at a question stands for; Enter alone denies.

    Raises:
        BadInput: it stands for none.
    """
    if prompt.kind is not PromptKind.PERMISSION:
        if not typed.strip():
            raise BadInput("type an answer; Ctrl-D leaves it open")
        return meant(prompt, typed)
    try:
        return meant(prompt, typed) if typed.strip() else PERMISSION_DEFAULT
    except BadInput:
        raise BadInput("type y, n, always, never or v; also: no: WORDS, always: PATTERN") from None
