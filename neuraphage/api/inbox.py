"""The inbox: what all tasks ask, and who was faster with an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuraphage.api.shown_prompts import ShownPrompts
from neuraphage.errors import BadInput, CorruptRecord, SchemaTooNew, TaskNotFound

if TYPE_CHECKING:
    from neuraphage.decide.inbox import Asked
    from neuraphage.model.prompt import Prompt
    from neuraphage.model.shown import Inbox, ShownPrompt
    from neuraphage.model.task import TaskRecord

INBOX_PROMPTS = 100
"""Prompts of one read, when no other number is given."""
MOST_INBOX_PROMPTS = 1_000
INBOX_TASKS = 1_000
"""Tasks that wait and are looked at for one read, and as many that are paused; the longest waiting first."""


class InboxReads(ShownPrompts):
    """Open prompts of all tasks."""

    def inbox(self, *, limit: int = INBOX_PROMPTS) -> Inbox:
        """Open prompts of all tasks that wait or are paused, the most urgent first; see `decide.inbox.in_order`.

        Records of up to INBOX_TASKS tasks of each of these statuses are read, and what the prompts that come back ask.

        Args:
            limit: at most so many, 1 to MOST_INBOX_PROMPTS.

        Raises:
            BadInput: the limit is none.
            StoreUnavailable, StoreError: the state server did not answer.
        """
        if not 1 <= limit <= MOST_INBOX_PROMPTS:
            raise BadInput(f"a limit of {limit} prompts is none; give a number from 1 to {MOST_INBOX_PROMPTS}")
        from neuraphage.model.shown import Inbox, OpenPrompt  # noqa: PLC0415 - most reads are of one task

        records, asked = self._asked()
        chosen: dict[str, list[Prompt]] = {}
        for record, prompt in asked[:limit]:
            chosen.setdefault(record.task_id, []).append(prompt)
        texts = {
            (record.task_id, one.prompt.prompt_id): one
            for record in records
            if record.task_id in chosen
            for one in self._texts(record, chosen[record.task_id])
        }
        found = [(record, texts.get((record.task_id, prompt.prompt_id))) for record, prompt in asked[:limit]]
        is_whole = len(asked) <= limit and len(records) < INBOX_TASKS
        prompts = (OpenPrompt(record, shown, self._above(record)) for record, shown in found if shown is not None)
        return Inbox(tuple(prompts), is_whole)

    def _above(self, record: TaskRecord) -> tuple[str, ...]:
        """The tasks that have made one, from the topmost one on; as far up as they are kept."""
        path: list[str] = []
        parent = record.spec.parent_id
        while parent is not None:
            path.insert(0, parent)
            try:
                parent = self._ports.reads.get(parent).spec.parent_id
            except (TaskNotFound, CorruptRecord, SchemaTooNew):
                break
        return tuple(path)

    def _asked(self) -> tuple[Sequence[TaskRecord], Sequence[Asked]]:
        """Tasks that ask, and their open prompts, the most urgent first."""
        from neuraphage.decide.inbox import in_order  # noqa: PLC0415 - as above

        records = self._ports.reads.asking(INBOX_TASKS)
        return records, in_order(records)

    def _texts(self, record: TaskRecord, prompts: Sequence[Prompt]) -> Sequence[ShownPrompt]:
        """What is shown of some of a task's prompts; nothing where the task is gone since it was read."""
        try:
            return self.shown_prompts(record.model_copy(update={"prompts": tuple(prompts)}))
        except TaskNotFound:
            return ()
