"""Open prompts in one line, which of them a person names, and what a person's words mean. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuraphage.decide.answers import FORMS, NO_ANSWER, read_answer
from neuraphage.decide.seen_text import spelled
from neuraphage.errors import BadInput
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.tool_traits import ToolTraits

SHORT_ID_CHARS = 8
"""Of a prompt's id where people read it: no later prompt of the task will begin alike."""
LEAST_ID_CHARS = 4
"""Of a prompt's id that a person gives; fewer might fit another prompt tomorrow."""
LINE_CHARS = 300
SUMMARY_CHARS = 2_000


def short_prompt_id(prompt: Prompt) -> str:
    """A part of the id that names the prompt."""
    return prompt.prompt_id[:SHORT_ID_CHARS]


def named(prompts: Iterable[Prompt], part: str) -> list[Prompt]:
    """The prompts that a person may mean by an id or the beginning of one.

    Args:
        prompts: those that are open.
        part: as given; a beginning has at least LEAST_ID_CHARS characters.
    """
    all_open = list(prompts)
    exact = [prompt for prompt in all_open if prompt.prompt_id == part]
    if exact or len(part) < LEAST_ID_CHARS:
        return exact
    return [prompt for prompt in all_open if prompt.prompt_id.startswith(part)]


def asks_line(prompt: Prompt) -> str:
    """What a prompt asks, in one line: the tool with its command or path, or the question."""
    if prompt.kind is PromptKind.PERMISSION:
        return _short(f"{prompt.tool}: {spelled(prompt.params_summary)}" if prompt.params_summary else prompt.text)
    if prompt.kind is PromptKind.CONVERSATION:
        return "Your turn."
    question = spelled(prompt.text)
    return _short(f"{prompt.tool}: {spelled(prompt.params_summary)}: {question}" if prompt.params_summary else question)


def params_summary(params: Mapping[str, Any], traits: ToolTraits) -> str:
    """Parameters of a call in one line: what it works on first, then the short ones, not behind a whole file."""
    subjects = {traits.command, *traits.reads, *traits.writes, *(traits.subject or ())}
    parts = {name: f"{name}={value!r}" for name, value in params.items()}
    return ", ".join(parts[name] for name in sorted(parts, key=lambda name: (name not in subjects, len(parts[name]))))


def numbered(options: Sequence[str]) -> bool:
    """Whether options may be named by their numbers: not if one is a number itself, which would mean two things."""
    return bool(options) and not any(option.strip().isdecimal() for option in options)


def meant(prompt: Prompt, typed: str) -> str:
    """The answer that a person's words stand for, the same in every place where they may be written.

    Raises:
        BadInput: they stand for none.
    """
    word = typed.strip()
    if not word:
        raise BadInput("the answer is empty; write what the task should know")
    if not prompt.options:
        return word
    if prompt.kind is PromptKind.PERMISSION:
        return _meant_permission(prompt, word)
    wanted = word.casefold()
    for option in prompt.options:
        if option.strip().casefold() == wanted:
            return option
    has_numbers = numbered(prompt.options)
    if has_numbers and word.isdecimal() and 1 <= int(word) <= len(prompt.options):
        return prompt.options[int(word) - 1]
    numbers = f", or a number from 1 to {len(prompt.options)}" if has_numbers else ""
    raise BadInput(
        f"{_short(word)!r} is no answer to {_short(prompt.text)!r}; answer one of: {', '.join(prompt.options)}{numbers}"
    )


def _meant_permission(prompt: Prompt, word: str) -> str:
    try:
        return str(read_answer(word, prompt.tool))
    except BadInput as error:
        why = "" if str(error) == NO_ANSWER else f" ({error})"
        raise BadInput(
            f"{_short(word)!r} is no answer to {_short(prompt.text)!r}{why}; answer one of:"
            f" {', '.join(prompt.options)}. {FORMS}"
        ) from None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARS else line[: LINE_CHARS - 4] + " ..."
