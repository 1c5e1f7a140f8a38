"""Tells of open calls whose file is no longer the one that a person was asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from neuraphage.api import Api
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord

CHANGED = (
    "the file has changed since this was asked: yes writes nothing, and you are asked anew about what is there now"
)


def tell_changed(api: Api, record: TaskRecord, prompts: Iterable[Prompt], tell: Callable[[str], None]) -> None:
    """Say it once where a person allows such calls, so that nobody takes their yes for a change that was made.

    Args:
        api: reads.
        record: of the task that asks.
        prompts: that are about to be allowed.
        tell: takes the sentence.
    """
    if api.changed_since_asked(record) & {prompt.tool_use_id for prompt in prompts}:
        tell(CHANGED)
