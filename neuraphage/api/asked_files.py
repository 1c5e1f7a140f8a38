"""Open calls whose file is no longer the one that a person was asked about: a yes to them writes nothing."""

from __future__ import annotations

from neuraphage.api.application import Api
from neuraphage.decide.approved_file import approved_file
from neuraphage.model.effect import tool_effect
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import TaskRecord


def changed_since_asked(api: Api, record: TaskRecord) -> frozenset[str]:
    """Find them, as far as the working directory is on this machine.

    Args:
        api: reads the journal, and the conversation where a permission for a file is open.
        record: of the task that asks.

    Returns:
        Their tool_use ids.

    Raises:
        TaskNotFound, StoreUnavailable, StoreError: see `Reads.get`.
    """
    permissions = [prompt for prompt in record.prompts if prompt.kind is PromptKind.PERMISSION]
    asked = {prompt.tool_use_id for prompt in permissions if prompt.tool_use_id is not None}
    folder, files = record.spec.working_dir, api._ports.files
    if not asked or folder is None or not files.is_here(folder):
        return frozenset()
    journal = api.journal(record.task_id)
    approved = {call: sight for call in asked if (sight := approved_file(tool_effect(journal, call))) is not None}
    if not approved:
        return frozenset()
    from neuraphage.decide.files_seen import files_seen  # noqa: PLC0415 - only an open change of a file needs it

    seen = files_seen(api.conversation(record.task_id))
    known = ((call, files.is_as_approved(sight, folder, seen.get(sight.path))) for call, sight in approved.items())
    return frozenset(call for call, is_same in known if is_same is False)
