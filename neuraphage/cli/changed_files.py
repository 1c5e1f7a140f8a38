"""Open calls whose file is no longer the one that a person was asked about: a yes to them writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from neuraphage.api import Api
from neuraphage.cli.call_text import CHANGES
from neuraphage.model.prompt import Prompt, PromptKind
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
    if changed_since_asked(api, record) & {prompt.tool_use_id for prompt in prompts}:
        tell(CHANGED)


def changed_since_asked(api: Api, record: TaskRecord) -> frozenset[str]:
    """Find them, as far as the working directory is on this machine.

    Args:
        api: reads journal and conversation, where a permission for a file is open.
        record: of the task that asks.

    Returns:
        Their tool_use ids.
    """
    asked = {p.tool_use_id for p in record.prompts if p.kind is PromptKind.PERMISSION and p.tool in CHANGES}
    folder = record.spec.working_dir
    if not asked or folder is None or not Path(folder).is_dir():
        return frozenset()
    # imported here: a command begins without what only an open change of a file needs
    from neuraphage.decide.files_seen import files_seen  # noqa: PLC0415 - as above
    from neuraphage.runtime.approved_file import approved_file  # noqa: PLC0415 - as above
    from neuraphage.tools.base import ToolCallError  # noqa: PLC0415 - as above
    from neuraphage.tools.files import read_raw_or_none  # noqa: PLC0415 - as above
    from neuraphage.tools.freshness import digest, is_as_approved  # noqa: PLC0415 - as above
    from neuraphage.tools.paths import resolve  # noqa: PLC0415 - as above

    seen = files_seen(api.conversation(record.task_id))
    found = set()
    for call_id, entry in api.journal(record.task_id).items():
        approved = approved_file(entry) if call_id in asked else None
        if approved is None:
            continue
        try:
            raw = read_raw_or_none(resolve(approved.path, folder))
        except (ToolCallError, OSError):
            continue  # not to be read here, so nothing is known
        if not is_as_approved(approved, digest(raw.data) if raw else None, seen.get(approved.path)):
            found.add(call_id)
    return frozenset(found)
