"""Putting a task back to work with `run --resume`, and the commands that do so on the present stack."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from neuraphage.api import Api
from neuraphage.cli.answer_command import send_answer
from neuraphage.cli.answer_lines import answer_commands
from neuraphage.cli.flags import chosen_flags
from neuraphage.cli.hints import command_line, typed_here
from neuraphage.cli.new_task import tell_first
from neuraphage.decide.asking import short_prompt_id
from neuraphage.decide.going_on import going_on
from neuraphage.errors import IllegalMove
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TERMINAL, FailedDetail, Status, TaskRecord

_GOES_ON = re.compile(r"`neuraphage (?:retry|resume|send) ([^`]*)`")
"""Commands that `run --resume` stands for when it has to start a stack again."""


@dataclass(frozen=True)
class ResumeInput:
    """What a person gives a task that is to go on.

    Args:
        message: a message to the model.
        answer: the answer to what it asks.
        max_turns, max_cost_usd: limits from now on.
        prompts: ids of those that the answer is for.
        seen: whether the person says to have seen all of what a listing shortens.
        attach: images and documents that go with the message.
    """

    message: str | None = None
    answer: str | None = None
    max_turns: int | None = None
    max_cost_usd: float | None = None
    prompts: tuple[str, ...] = ()
    seen: bool = False
    attach: tuple[Path, ...] = ()


def resumed(api: Api, wanted_id: str, wanted: ResumeInput) -> tuple[str, str]:
    """Put a task back to work.

    Returns:
        Its id, and the last event that was there before.

    Raises:
        IllegalMove: nothing that was given goes on with it; the message names what does.
    """
    record = api.get(wanted_id)
    task_id = record.task_id
    before = [event.event_id for event in api.events(task_id)]
    failed = isinstance(record.detail, FailedDetail) and record.detail.recoverable
    if record.status in TERMINAL and not failed and (record.status is not Status.COMPLETED or not wanted.message):
        raise IllegalMove(f"{task_id} is {record.status}: {going_on(record)}")
    if failed:
        api.retry(task_id, max_turns=wanted.max_turns, max_cost_usd=wanted.max_cost_usd)
    elif wanted.max_turns is not None or wanted.max_cost_usd is not None:
        api.limit(task_id, max_turns=wanted.max_turns, max_cost_usd=wanted.max_cost_usd)
    if wanted.message is not None:
        if wanted.attach:
            tell_first(api, record.choice.model, wanted.attach)
        api.send(task_id, wanted.message, attachments=wanted.attach)
    if record.status is Status.PAUSED:
        api.resume(task_id)
    if wanted.answer is not None:
        send_answer(api, record, wanted.prompts, wanted.answer, seen=wanted.seen)
    return task_id, (before[-1] if before else None) or "0"


@dataclass(frozen=True)
class NextCommands:
    """Command lines that go on with the task, for this stack.

    Args:
        task_id: the task.
        own_stack: whether the stack ends with this process, so that a command must start one again.
        script: script that it plays.
    """

    task_id: str
    own_stack: bool
    script: str | None

    def resume(self, *options: str) -> str:
        """The command that goes on with the task, with these options."""
        short = self.task_id.rpartition("-")[2]
        if not self.own_stack:
            return command_line("resume", short)
        script = ("--script", shlex.quote(self.script)) if self.script else ()
        url = chosen_flags().get("openai_base_url")
        server = ("--base-url", shlex.quote(url)) if url else ()
        prices = [word for price in chosen_flags().get("prices", ()) for word in ("--price", shlex.quote(price))]
        return command_line("run", "--resume", short, *script, *server, *prices, *options)

    def text(self, text: str) -> str:
        """A text whose commands reach the stack, also once it has ended with this process."""
        if not self.own_stack:
            return typed_here(text)
        return typed_here(_GOES_ON.sub(lambda found: f"`{self._again(found[1])}`", text))

    def _after_failure(self, record: TaskRecord) -> str:
        said = self.text(going_on(record))
        needs_stack = self.own_stack and "--resume" not in said
        return f"{said} (while `{command_line('dev')}` runs)" if needs_stack else said

    def _again(self, words: str) -> str:
        short, _, options = words.partition(" ")
        return self.resume(*filter(None, [options])) if self.task_id.endswith(short) else f"neuraphage {words}"

    def lines(self, record: TaskRecord) -> list[str]:
        """What to type to go on with a task that rests, a line each; none for one that is completed or cancelled."""
        if record.status is Status.PAUSED:
            return [f"paused; go on with: {self.resume()}"]
        if record.status in TERMINAL:
            return [self._after_failure(record)] if record.status is Status.FAILED else []
        lines = answer_commands(record)
        if self.own_stack:  # which is gone by then
            return [
                *(f"{self.resume()} {_said(prompt)}" for prompt in record.prompts),
                *(f"or, while `{command_line('dev')}` runs: {line}" for line in lines),
            ]
        return lines


def _said(prompt: Prompt) -> str:
    if prompt.kind is PromptKind.CONVERSATION:
        return '"..."'
    return f"--prompt {short_prompt_id(prompt)} --answer ANSWER"
