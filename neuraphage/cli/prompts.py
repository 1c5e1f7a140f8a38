"""What a task asks, as a person reads it, and what a person's words mean."""

from __future__ import annotations

from neuraphage.cli.call_text import CHANGES, COMMAND, body, title
from neuraphage.cli.console import local_time, short_id
from neuraphage.cli.hints import command_line
from neuraphage.cli.transcript import Call
from neuraphage.cli.viewer import BAR, Viewer
from neuraphage.errors import BadInput
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TaskRecord
from neuraphage.tools.base import ToolCallError
from neuraphage.tools.files import decode, read_raw_or_none
from neuraphage.tools.paths import resolve

PERMISSION_KEYS = {"y": "yes", "n": "no", "a": "always", "v": "never"}
PERMISSION_DEFAULT = "no"
END_WORD = "/end"
"""What a person types to leave a conversation."""


def show_prompt(
    viewer: Viewer, record: TaskRecord, prompt: Prompt, call: Call | None = None, *, in_place: bool = False
) -> None:
    """What is asked, where, and what the answers are.

    Args:
        viewer: writes.
        record: of the task that asks.
        prompt: the question.
        call: the call that it is about; without it the prompt's own summary is shown.
        in_place: whether it is answered here; then each answer has a line, with its key.
    """
    if prompt.kind is PromptKind.CONVERSATION:
        viewer.line("? Your turn.", "bold")
        if in_place:
            viewer.line(f"  {END_WORD} or Ctrl-D leaves the conversation, which waits for you", "dim")
        return
    options = f" ({'/'.join(prompt.options)})" if prompt.options and not in_place else ""
    viewer.line(f"? {prompt.text}{options}", "bold")
    if prompt.kind is PromptKind.PERMISSION:
        _show_call(viewer, record, prompt, call)
    if prompt.deadline_ms is not None:
        viewer.line(f"  no answer until {local_time(prompt.deadline_ms)} counts as {prompt.default_answer}", "dim")
    for choice in choices(prompt) if in_place else ():
        viewer.line(choice, "dim")


def show_open_prompt(viewer: Viewer, record: TaskRecord, prompt: Prompt) -> None:
    """One open prompt with the command that answers it."""
    show_prompt(viewer, record, prompt)
    viewer.line(f"  {answer_command(record, prompt)}", "dim")


def _show_call(viewer: Viewer, record: TaskRecord, prompt: Prompt, call: Call | None) -> None:
    if record.spec.working_dir:
        viewer.line(f"  in {record.spec.working_dir}")
    if call is None:
        viewer.line(f"{BAR}{prompt.params_summary or ''}")
        return
    before = call.before
    if call.tool in CHANGES and before is None:
        before = _on_disk(record, str(call.params.get("path", "")))
    if call.tool != COMMAND:
        viewer.line(f"  {title(call.tool, call.params) if call.tool in CHANGES else f'> {call.tool}'}")
    viewer.block(body(call.tool, call.params, before, whole=True), whole=True)


def _on_disk(record: TaskRecord, path: str) -> str | None:
    """The file as it is now, if it is on this machine: a write that waits for permission has not been made."""
    try:
        place = resolve(path, record.spec.working_dir)
        raw = read_raw_or_none(place)
        return None if raw is None else decode(raw.data, place.shown).text
    except (ToolCallError, OSError, UnicodeError):
        return None


def answer_command(record: TaskRecord, prompt: Prompt) -> str:
    """The command that answers a prompt.

    ANSWER stands for the answer: one given here would be sent by whoever copies the line.
    """
    if prompt.kind is PromptKind.CONVERSATION:
        return command_line("send", short_id(record.task_id), '"..."')
    which = ("--prompt", prompt.prompt_id) if len(record.prompts) > 1 else ()
    return command_line("answer", short_id(record.task_id), *which, "ANSWER")


def leaves(prompt: Prompt, typed: str) -> bool:
    """Whether a person's line is no message, but says that they leave the conversation."""
    return prompt.kind is PromptKind.CONVERSATION and typed.strip() == END_WORD


def question(prompt: Prompt) -> str:
    """What stands before a person's answer; it names the answer that Enter alone gives, if it gives one."""
    if prompt.kind is PromptKind.CONVERSATION:
        return "  you: "
    return f"  answer [{PERMISSION_DEFAULT}]: " if prompt.kind is PromptKind.PERMISSION else "  answer: "


def choices(prompt: Prompt) -> list[str]:
    """Lines that name the answers to choose from; none when any text will do."""
    if prompt.kind is PromptKind.PERMISSION:
        return ["  y = yes, n = no", f"  a = always, v = never: for every {prompt.tool} call of this task"]
    return [f"  {number} = {option}" for number, option in enumerate(prompt.options, start=1)]


def meant(prompt: Prompt, typed: str) -> str:
    """The answer that a person's line stands for.

    Raises:
        BadInput: it stands for none.
    """
    word = typed.strip()
    if prompt.kind is PromptKind.PERMISSION:
        answer = PERMISSION_KEYS.get(word.lower(), word.lower()) or PERMISSION_DEFAULT
        if answer not in prompt.options:
            raise BadInput("type y, n, a or v")
        return answer
    if not word:
        raise BadInput("type an answer; Ctrl-D leaves it open")
    if prompt.options and word.isdecimal() and 1 <= int(word) <= len(prompt.options):
        return prompt.options[int(word) - 1]
    if prompt.options and word.casefold() not in {option.strip().casefold() for option in prompt.options}:
        raise BadInput(f"type a number from 1 to {len(prompt.options)}")
    return word
