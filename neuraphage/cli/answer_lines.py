"""The commands that answer what a task asks."""

from __future__ import annotations

from neuraphage.cli.console import short_id
from neuraphage.cli.hints import command_line
from neuraphage.decide.asking import short_prompt_id
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TaskRecord


def answer_command(record: TaskRecord, *prompts: Prompt) -> str:
    """The command that gives these prompts one answer.

    ANSWER stands for the answer: one given here would be sent by whoever copies the line.
    """
    if len(prompts) == 1 and prompts[0].kind is PromptKind.CONVERSATION:
        return command_line("send", short_id(record.task_id), '"..."')
    return command_line("answer", short_id(record.task_id), *(short_prompt_id(one) for one in prompts), "ANSWER")


def answer_commands(record: TaskRecord) -> list[str]:
    """For each open prompt the command that answers it, and one that answers all permissions alike."""
    lines = [answer_command(record, prompt) for prompt in record.prompts]
    permissions = permissions_of(record)
    return [*lines, f"all alike: {answer_command(record, *permissions)}"] if len(permissions) > 1 else lines


def permissions_of(record: TaskRecord) -> list[Prompt]:
    """Open prompts that ask for permission."""
    return [prompt for prompt in record.prompts if prompt.kind is PromptKind.PERMISSION]
