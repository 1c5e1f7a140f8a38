"""Guards of what people write: asked before a message, or the answer to a question, is taken in."""

from __future__ import annotations

from neuraphage.model.hook import HookPoint, VerdictKind
from neuraphage.model.hook_payload import PostUserInput
from neuraphage.runtime.asking_guards import common, judgement, told
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


def judged_input(services: Services, work: UnitOfWork, text: str, prompt_id: str = "", by: str = "user") -> str:
    """The words as guards let them in; in place of what they reject the model is told that, and why.

    Args:
        services: the ports.
        work: the working copy.
        text: what was written, without secrets.
        prompt_id: of the question that it answers; empty for a message.
        by: who wrote it.
    """
    point = HookPoint.POST_USER_INPUT
    if point not in services.guards.points:
        return text
    found = judgement(services, work, PostUserInput(**common(work), text=text, prompt_id=prompt_id, by=by))
    if found.verdict is VerdictKind.ALLOW:
        return text
    work.note(events=told(point, found))
    if found.verdict is VerdictKind.BLOCK:
        return f"[What a person wrote was withheld by the guard {found.by}: {found.reason}]"
    return text if found.text is None else found.text
