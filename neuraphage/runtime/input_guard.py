"""Guards of what people write: asked before a goal, a message, or the answer to a question, is taken in."""

from __future__ import annotations

from neuraphage.decide.conversation import numbered_visible
from neuraphage.model.hook import HookPoint, VerdictKind
from neuraphage.model.hook_payload import PostUserInput
from neuraphage.model.message import Block, Entry
from neuraphage.runtime.asking_guards import GuardBlocked, common, judgement, told
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


def judge_goal(services: Services, work: UnitOfWork) -> None:
    """Have guards judge the words that a task was submitted with, before its first request is put together.

    Those that they change are superseded, as a reply that is asked for again is: what came stays stored, and no model
    is shown it. The verdict is stored with the announcement of the request: what was sent is judged once.

    Args:
        services: the ports.
        work: the working copy of a turn that has sent no request yet.

    Raises:
        GuardBlocked: the words are rejected; nothing is noted.
    """
    point = HookPoint.POST_USER_INPUT
    if point not in services.guards.points or work.record.counters.iteration or not work.entries:
        return
    (number, goal), *behind = numbered_visible(work.entries)
    if number or goal["role"] != "user":  # judged, and changed, before a pause of this turn
        return
    texts = [str(block["text"]) for block in goal["content"] if block.get("type") == "text"]
    by = "user" if work.record.spec.parent_id is None else "task"
    found = judgement(services, work, PostUserInput(**common(work), text="\n".join(texts), by=by))
    if found.verdict is VerdictKind.BLOCK:
        raise GuardBlocked(point, found)
    if found.text is None:
        return
    kept: list[Block] = [block for block in goal["content"] if block.get("type") != "text"]
    words: list[Block] = [{"type": "text", "text": found.text}] if found.text.strip() else []
    notes = [block for _, entry in behind for block in entry["content"]]  # hidden with it, and to be said all the same
    work.note(
        entries=[Entry(role="user", content=[*kept, *words, *notes], supersedes=0, said=True)],
        events=told(point, found),
    )
