"""Open calls whose file is no longer the one that a person was asked about: a yes to them writes nothing."""

from __future__ import annotations

from neuraphage.api.reads import Reads
from neuraphage.model.effect import tool_effect
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import TaskRecord


class AskedFiles(Reads):
    """The read that also looks at files of this machine."""

    def changed_since_asked(self, record: TaskRecord) -> frozenset[str]:
        """Open calls whose file has changed since, as far as the working directory is on this machine.

        Args:
            record: of the task that asks. Its journal is read where a permission is open, its conversation where that
                is for a file.

        Returns:
            Their tool_use ids.

        Raises:
            TaskNotFound, StoreUnavailable, StoreError: see `get`.
        """
        permissions = [prompt for prompt in record.prompts if prompt.kind is PromptKind.PERMISSION]
        asked = {prompt.tool_use_id for prompt in permissions if prompt.tool_use_id is not None}
        folder, files = record.spec.working_dir, self._ports.files
        if not asked or folder is None or not files.is_here(folder):
            return frozenset()
        from neuraphage.decide.approved_file import approved_file  # noqa: PLC0415 - few tasks ask about a file

        journal = self.journal(record.task_id)
        approved = {call: sight for call in asked if (sight := approved_file(tool_effect(journal, call))) is not None}
        if not approved:
            return frozenset()
        from neuraphage.decide.files_seen import files_seen  # noqa: PLC0415 - only an open change of a file needs it

        seen = files_seen(self.conversation(record.task_id))
        known = ((call, files.is_as_approved(sight, folder, seen.get(sight.path))) for call, sight in approved.items())
        return frozenset(call for call, is_same in known if is_same is False)
