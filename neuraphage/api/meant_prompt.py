"""Which open prompt an answer is for, and what a person is told where that is not clear."""

from __future__ import annotations

import shlex

from neuraphage.decide.asking import asks_line, named, short_prompt_id
from neuraphage.errors import BadInput, PromptNotOpen
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TaskRecord

SHOWN_ANSWER_CHARS = 60
"""Of an answer that is repeated in the command that would have worked."""


def meant_prompt(record: TaskRecord, prompt_id: str | None, text: str) -> Prompt:
    """The open prompt that an answer is for. A permission must be named: an answer that is sent twice, or late, would
    else be taken for the next question.

    Raises:
        PromptNotOpen: no such prompt is open.
        BadInput: none is named where one must be, or several fit.
    """
    prompts, task_id = record.prompts, record.task_id
    if prompt_id is None and len(prompts) == 1 and prompts[0].kind is not PromptKind.PERMISSION:
        return prompts[0]
    if not prompts:
        which = f" {prompt_id!r}" if prompt_id else ""
        raise PromptNotOpen(f"{task_id} has no open prompt{which}; it was answered, timed out, or never asked")
    found = [] if prompt_id is None else named(prompts, prompt_id)
    if len(found) == 1:
        return found[0]
    commands = "; ".join(_answer_line(record, prompt, text) for prompt in prompts)
    if prompt_id is None:
        raise BadInput(f"an answer must name its prompt, or it could go to another question; open are: {commands}")
    if found:
        raise BadInput(f"several prompts begin with {prompt_id!r}; open are: {commands}")
    raise PromptNotOpen(
        f"{task_id}: no prompt {prompt_id!r} is open; it was answered, timed out, or never asked. Open are: {commands}"
    )


def _answer_line(record: TaskRecord, prompt: Prompt, text: str) -> str:
    """The command that answers a prompt, and what it would answer."""
    word = shlex.quote(text) if 0 < len(text) <= SHOWN_ANSWER_CHARS and text.isprintable() else "ANSWER"
    short_task = record.task_id.rpartition("-")[2]
    return f"`neuraphage answer {short_task} {short_prompt_id(prompt)} {word}` ({asks_line(prompt)})"
