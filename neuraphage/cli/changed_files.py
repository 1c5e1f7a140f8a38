"""Tells of open calls whose file is no longer the one that a person was asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from neuraphage.api import Api
from neuraphage.model.prompt import Prompt
from neuraphage.model.shown import CHANGED
from neuraphage.model.task import TaskRecord


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
