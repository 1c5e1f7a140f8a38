"""An open prompt as a person sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord

UNREADABLE = "the call itself, which cannot be read; this is a summary of it"
CHANGED = (
    "the file has changed since this was asked: yes writes nothing, and you are asked anew about what is there now"
)


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """An open prompt, and all that a person is shown of it: the same text on every surface.

    Args:
        prompt: as stored.
        question: what is asked, whole; the marks in it are those of `decide.seen_text`.
        working_dir: where the call that it is about would run, marked too; empty where it is about none.
        lines: all that this call will do, nothing cut: text and style of each.
        params: of the call, as stored; None where it is about none, or the call cannot be read.
        is_whole: whether the lines are the call itself. Else they are the summary that is stored with the prompt, and
            nobody should allow it.
        is_changed: whether its file is another one than was asked about; see `Api.changed_since_asked`.
        directory: of the task, as it is, for rules that may be made of the call; None where it is about none.
    """

    prompt: Prompt
    question: str
    working_dir: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    params: Mapping[str, Any] | None = None
    is_whole: bool = True
    is_changed: bool = False
    directory: str | None = None

    @property
    def shown(self) -> list[str]:
        """All of it, line by line: the question, the directory, the call, and what speaks against an answer."""
        rows = self.question.split("\n")
        if self.lines and self.working_dir:
            rows.append(f"in {self.working_dir}")
        rows += [text for text, _ in self.lines]
        if not self.is_whole:
            rows.append(f"NOT SHOWN: {UNREADABLE}")
        return [*rows, CHANGED] if self.is_changed else rows


@dataclass(frozen=True, slots=True)
class OpenPrompt:
    """An open prompt of the inbox.

    Args:
        record: of the task that asks, as it was read.
        shown: the prompt, and all that a person is shown of it.
        above: ids of the tasks that have made it, from the topmost one on; empty where no task has.
    """

    record: TaskRecord
    shown: ShownPrompt
    above: tuple[str, ...] = ()

    @property
    def prompt(self) -> Prompt:
        """As stored."""
        return self.shown.prompt

    @property
    def task_id(self) -> str:
        """Of the task that asks."""
        return self.record.task_id


@dataclass(frozen=True, slots=True)
class Inbox:
    """Open prompts of all tasks, the most urgent first.

    Args:
        prompts: these; as many as were asked for.
        is_whole: whether no more are open.
    """

    prompts: tuple[OpenPrompt, ...]
    is_whole: bool = True
