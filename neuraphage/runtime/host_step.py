"""Asking people whether commands of a task may reach a host, and taking their answers."""

from __future__ import annotations

from collections.abc import Sequence

from neuraphage.decide.answers import taken_answer
from neuraphage.decide.hashing import call_name, prompt_id
from neuraphage.decide.host_requests import host_told, subject
from neuraphage.decide.policy import TIMEOUT
from neuraphage.model.effect import Permission
from neuraphage.model.event import Event
from neuraphage.model.message import Entry
from neuraphage.model.prompt import PERMISSION_OPTIONS, InboxItem, Prompt, PromptKind
from neuraphage.model.tool import ToolCall
from neuraphage.runtime.seals import PERMISSION_EVENTS, author, requested
from neuraphage.runtime.unit_of_work import UnitOfWork


class HostStep:
    """Prompts about hosts, of one turn. An answer holds for the rest of the task, whatever it is.

    Args:
        work: the working copy.
    """

    def __init__(self, work: UnitOfWork) -> None:
        self._work = work

    def open_for(self, call: ToolCall, index: int, places: Sequence[str]) -> None:
        """Note a prompt for each host that the command of a call was refused.

        Args:
            call: the call, which is over.
            index: its number in its reply.
            places: hosts and ports.
        """
        record, now_ms = self._work.record, self._work.now_ms()
        timeout_s = record.spec.permission_timeout_s
        name = call_name(call.tool_use_id, record.resets)
        opened = [
            Prompt(
                prompt_id=prompt_id(record.task_id, record.counters.iteration, name, subject(place)),
                kind=PromptKind.PERMISSION,
                text=f"May commands of this task reach {place}? This one was refused it.",
                options=PERMISSION_OPTIONS,
                tool=subject(place),
                tool_use_id=call.tool_use_id,
                opened_at_ms=now_ms,
                deadline_ms=None if timeout_s is None else now_ms + int(timeout_s * 1000),
                default_answer=None if timeout_s is None else "no",
                call_index=index,
            )
            for place in places
        ]
        self._work.open_prompts(opened)
        self._work.note(events=map(requested, opened))

    def answered(self, call: ToolCall, place: str, prompt: Prompt, item: InboxItem, text: str) -> None:
        """Note what a person says of a host, and tell the model.

        Args:
            call: whose command was refused it.
            place: host and port.
            prompt: the prompt, which is closed already.
            item: the answer.
            text: of it, without secrets.
        """
        answer = taken_answer(text, subject(place))
        is_allowed = answer.permission is Permission.GRANTED and answer.changes is None and answer.pattern is None
        permission = Permission.GRANTED if is_allowed else Permission.DENIED
        self._work.remember_grant(subject(place), permission.value)
        told = host_told(place, is_allowed_now=is_allowed, nobody_answered=item.by == TIMEOUT)
        if answer.words and not is_allowed:
            told = f"{told}\n{answer.words}"
        turn = self._work.record.counters.iteration
        self._work.note(
            entries=[Entry(role="user", content=[{"type": "text", "text": told}], turn=turn)],
            events=[
                Event(
                    kind=PERMISSION_EVENTS[permission],
                    data={
                        "tool": subject(place),
                        "id": call.tool_use_id,
                        **author(item, prompt, answer),
                        "digest": None,
                    },
                )
            ],
        )
