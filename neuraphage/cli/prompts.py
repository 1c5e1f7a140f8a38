"""What a task asks, as a person reads it, and the commands that answer."""

from __future__ import annotations

from collections.abc import Collection

from neuraphage.cli.answer_lines import answer_command
from neuraphage.cli.asked_text import Listing, asked_lines, listed, spelled
from neuraphage.cli.changed_files import CHANGED
from neuraphage.cli.console import local_time, short_id
from neuraphage.cli.hints import command_line
from neuraphage.cli.traits import traits_of
from neuraphage.cli.transcript import Call
from neuraphage.cli.viewer import Viewer
from neuraphage.decide.asking import meant, numbered, short_prompt_id
from neuraphage.errors import BadInput
from neuraphage.local_files import LocalFiles
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TaskRecord
from neuraphage.model.tool import ControlKind
from neuraphage.tool_wiring import proposed_rules

PERMISSION_DEFAULT = "no"
END_WORD = "/end"
"""What a person types to leave a conversation."""


def show_prompt(
    viewer: Viewer,
    record: TaskRecord,
    prompt: Prompt,
    call: Call | None = None,
    *,
    whole: bool = False,
    heading: str = "",
    changed: Collection[str] = (),
) -> bool:
    """What is asked, where, and what the answers are.

    Args:
        viewer: writes.
        record: of the task that asks.
        prompt: the question.
        call: the call that it is about; without it the prompt's own summary is shown.
        whole: show all of the call, however long it is.
        heading: stands before the question.
        changed: calls whose file is another one than was asked about, see `changed_files`.

    Returns:
        Whether all of it was shown.
    """
    if prompt.kind is PromptKind.CONVERSATION:
        viewer.line(f"? {heading}Your turn.", "bold")
        return True
    words = f" ({'/'.join(prompt.options)})" if prompt.kind is PromptKind.PERMISSION else ""
    viewer.line(f"? {heading}{spelled(_question_text(prompt, call))}{words}", "bold")
    shown = Listing([])
    if prompt.tool != ControlKind.ASK_USER and (call is not None or prompt.params_summary is not None):
        if record.spec.working_dir:
            viewer.line(f"  in {spelled(record.spec.working_dir)}")
        shown = _asked(record, prompt, call, whole=whole)
        viewer.block(shown.lines, whole=True)
        if prompt.tool_use_id in changed:
            viewer.line(f"  {CHANGED}", "yellow")
    if prompt.deadline_ms is not None:
        viewer.line(f"  no answer until {local_time(prompt.deadline_ms)} counts as {prompt.default_answer}", "dim")
    for rule in () if shown.left_out else proposed(record, prompt, call):  # of what was seen
        viewer.line(f"  always: {spelled(rule)}", "dim")
    if prompt.kind is not PromptKind.PERMISSION:
        marks = [f"{n} =" if numbered(prompt.options) else "-" for n in range(1, len(prompt.options) + 1)]
        for mark, option in zip(marks, prompt.options, strict=True):
            viewer.line(f"  {mark} {spelled(option)}", "dim")
    if shown.left_out:
        viewer.line(f"  NOT SHOWN: {shown.left_out}", "yellow")
    return not shown.left_out


def proposed(record: TaskRecord, prompt: Prompt, call: Call | None) -> tuple[str, ...]:
    """Rules that a person may answer a permission with, behind `always: `."""
    if prompt.kind is not PromptKind.PERMISSION or call is None:
        return ()
    return proposed_rules(call.tool, traits_of(call.tool), call.params, record.spec.working_dir)


def _question_text(prompt: Prompt, call: Call | None) -> str:
    """A long question is shortened where it is stored with the prompt, and whole in its call."""
    if prompt.tool == ControlKind.ASK_USER and call is not None:
        return str(call.params.get("question", ""))
    return prompt.text


def _asked(record: TaskRecord, prompt: Prompt, call: Call | None, *, whole: bool) -> Listing:
    if call is None and prompt.tool_use_id is None and not prompt.params_summary:
        return Listing([])
    if call is None:
        summary = [(spelled(line), "") for line in f"> {prompt.tool} {prompt.params_summary}".split("\n")]
        return Listing(summary, "the call itself, which cannot be read; this is a summary of it")
    # as it is now, if it is on this machine: a write that waits for permission has not been made
    change, before, is_absent = traits_of(call.tool).change, call.before, False
    if change is not None:
        files, place = LocalFiles(), (str(call.params.get(change.path, "")), record.spec.working_dir)
        is_absent = files.is_absent(*place)
        now = files.text(*place)
        before = now if now is not None or is_absent else before
    lines = asked_lines(call.tool, call.params, before, is_absent=is_absent)
    return Listing(lines) if whole else listed(lines)


def is_listed_whole(record: TaskRecord, prompt: Prompt, call: Call | None) -> bool:
    """Whether a listing shows all of what a prompt asks."""
    return prompt.kind is not PromptKind.PERMISSION or not _asked(record, prompt, call, whole=False).left_out


def show_open_prompt(
    viewer: Viewer,
    record: TaskRecord,
    prompt: Prompt,
    call: Call | None,
    *,
    whole: bool,
    changed: Collection[str] = (),
    hints: Viewer | None = None,
) -> None:
    """One open prompt with the command that answers it, or that shows the rest of it; see `show_prompt`.

    Args:
        hints: writes these commands, where they stand apart from the prompt, which then names its id itself.
    """
    complete = show_prompt(viewer, record, prompt, call, whole=whole, changed=changed)
    told, lead = hints or viewer, ""
    if hints is None:
        lead = "  "
    else:
        viewer.line(f"  prompt {short_prompt_id(prompt)}")
    if not complete:
        told.line(f"{lead}all of it: {command_line('answer', short_id(record.task_id))}", "dim")
    told.line(f"{lead}{answer_command(record, prompt)}", "dim")


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
