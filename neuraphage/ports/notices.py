"""Telling people outside of the program that a prompt has opened, or has waited long."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from neuraphage.model.prompt import Prompt
    from neuraphage.model.task import TaskRecord


class NoticeMark(StrEnum):
    """How far a notice has come: stored under the prompt's id and the event."""

    NONE = ""
    """Nobody tells it."""
    TELLING = "telling"
    """Somebody tells it now, or died while doing so: this mark expires soon."""
    TOLD = "told"


class NoticeStore(Protocol):
    """What is stored of notices. Every write is one command, safe to repeat."""

    def now_ms(self) -> int:
        """Server time, milliseconds."""
        ...

    def waiting_tasks(self, limit: int) -> list[tuple[str, int]]:
        """Tasks that wait for a person, with the server time since when; those of late first."""
        ...

    def get(self, task_id: str) -> TaskRecord:
        """One task, read at one instant."""
        ...

    def notice_marks(self, task_id: str, wanted: Sequence[tuple[str, str]]) -> list[NoticeMark]:
        """The marks of these notices, each a prompt's id and an event."""
        ...

    def begin_notice(self, task_id: str, prompt_id: str, event: str, hold_ms: int) -> NoticeMark:
        """Mark a notice as being told, for so long; answers what had stood there, NONE for who may tell it."""
        ...

    def end_notice(self, task_id: str, prompt_id: str, event: str, keep_ms: int) -> None:
        """Mark a notice as told, for so long."""
        ...


class PromptNotices(Protocol):
    """Tells of prompts, in the background: it raises nothing and holds nobody up."""

    def opened(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        """These prompts are stored as open.

        Args:
            record: of the task that asks, as the turn knows it.
            prompts: that have opened.
        """
        ...

    def look(self) -> None:
        """Tell what is due: of prompts that nobody was told of since, and of those that have waited long."""
        ...


class NoNotices:
    """Tells nobody: what holds where no setting names a command or an address."""

    def opened(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        """See PromptNotices."""

    def look(self) -> None:
        """See PromptNotices."""
