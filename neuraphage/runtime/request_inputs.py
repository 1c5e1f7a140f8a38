"""What goes into the conversation with the first request of a turn: the directory, git, what people wrote."""

from __future__ import annotations

import logging
from dataclasses import replace

from neuraphage.decide.attachments import media_to_store, reference
from neuraphage.decide.git_notes import git_note, is_asked
from neuraphage.decide.working_dir_notes import working_dir_note
from neuraphage.model.attachment import Attachment
from neuraphage.model.event import Event, EventKind
from neuraphage.model.message import Block, Entry
from neuraphage.model.prompt import PromptKind
from neuraphage.runtime.input_guard import judged_input
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)


def tell_of_place(services: Services, work: UnitOfWork, iteration: int) -> None:
    """A working directory that went, or came back, is told with the next request: to the model and to people."""
    working_dir = work.record.spec.working_dir
    if working_dir is None:
        return
    report = services.files.problem(working_dir)
    if report is not None:
        report = services.redaction.text(report)
    note = working_dir_note(work.entries, report)
    if note is None:
        return
    kind = EventKind.WORKING_DIR_BACK if report is None else EventKind.WORKING_DIR_LOST
    log.warning("%s", note, extra={"task": work.record.task_id})
    work.note(
        entries=[Entry(role="user", content=[{"type": "text", "text": note}], turn=iteration)],
        events=[Event(kind=kind, data={"path": working_dir, "report": report})],
    )


def tell_of_git(services: Services, work: UnitOfWork, iteration: int) -> None:
    """Branch and state of the repository, where they are asked for and are not what was said last."""
    working_dir = work.record.spec.working_dir
    if working_dir is None or not is_asked(work.entries, any(item.kind == "input" for _, item in work.inbox)):
        return
    state = services.files.git_state(working_dir, services.settings.git_timeout_s)
    if state is not None:
        state = replace(state, branch=services.redaction.text(state.branch))
    note = git_note(work.entries, state)
    if note is not None:
        work.note(entries=[Entry(role="user", content=[{"type": "text", "text": note}], turn=iteration)])


def take_inputs(services: Services, work: UnitOfWork, iteration: int) -> None:
    """What people wrote becomes part of the conversation with this request, never in mid-turn."""
    for prompt in [p for p in work.prompts.values() if p.kind is PromptKind.CONVERSATION]:
        work.close_prompt(prompt.prompt_id)
    blocks: list[Block] = []
    given: list[Attachment] = []
    for raw, item in list(work.inbox):
        if item.kind == "input":
            sent = [Attachment(**fields) for fields in item.attachments]
            given += sent
            text = judged_input(services, work, services.redaction.text(item.text))
            blocks += [*map(reference, sent), *([{"type": "text", "text": text}] if text.strip() else [])]
            work.consume(raw)
    if blocks:
        media = media_to_store(given, work.entries) or None
        work.note(entries=[Entry(role="user", content=blocks, turn=iteration, media=media, said=True)])
