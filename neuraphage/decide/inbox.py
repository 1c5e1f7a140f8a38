"""Open prompts of many tasks: which comes first, and which are alike. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TaskRecord

Asked = tuple[TaskRecord, Prompt]
"""An open prompt, and the task that asks."""


def in_order(records: Iterable[TaskRecord]) -> list[Asked]:
    """Open prompts, the most urgent first.

    By the task's priority, then what holds a task up before conversations, which only wait for their next message, then
    the oldest first. Prompts of one reply stay in the order of its calls.

    Args:
        records: of the tasks that ask.
    """
    asked = [(record, prompt) for record in records for prompt in record.prompts]
    return sorted(asked, key=_urgency)


def _urgency(asked: Asked) -> tuple[int, bool, int, str, int]:
    record, prompt = asked
    talks = prompt.kind is PromptKind.CONVERSATION
    return record.spec.priority, talks, prompt.opened_at_ms, record.task_id, prompt.call_index


def alike(asked: Asked, others: Sequence[Asked]) -> list[Asked]:
    """The permissions that one answer may be given together with this one: of the same tool in the same task.

    Args:
        asked: the prompt itself; it is among what comes back.
        others: all that are open.
    """
    record, prompt = asked
    if prompt.kind is not PromptKind.PERMISSION:
        return [asked]
    return [
        (other, one)
        for other, one in others
        if (other.task_id, one.kind, one.tool) == (record.task_id, prompt.kind, prompt.tool)
    ]
