"""Telling people outside of the program that a prompt has opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from neuraphage.model.prompt import Prompt
    from neuraphage.model.task import TaskRecord


class PromptNotices(Protocol):
    """Tells of prompts, in the background: it raises nothing and holds nobody up."""

    def opened(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        """These prompts are stored as open.

        Args:
            record: of the task that asks, as the turn knows it.
            prompts: that have opened.
        """
        ...


class NoNotices:
    """Tells nobody: what holds where no setting names a command or an address."""

    def opened(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        """See PromptNotices."""
