"""What a person is told of a request that was not accepted, and what they can do instead."""

from __future__ import annotations

from collections.abc import Callable

from neuraphage.api.refused_edges import refused_edge
from neuraphage.decide.going_on import after_raising, anew, going_on, reset
from neuraphage.decide.limits import limit_failure, limit_reached
from neuraphage.errors import (
    BadInput,
    IllegalMove,
    LimitReached,
    NeuraphageError,
    PromptNotOpen,
    StoreError,
    TaskNotFound,
)
from neuraphage.model.task import TaskRecord
from neuraphage.ports import Signal, SignalKind, Signalled, SignalVerdict

Get = Callable[[str], TaskRecord]
"""Reads a task."""


_ASKED = {
    SignalKind.RETRY_REPLY: "other try at a reply",
    SignalKind.MODEL: "other model",
    SignalKind.DEPEND: "dependency",
    SignalKind.UNDEPEND: "change of what it waits for",
}


def refused(task_id: str, sent: Signal, answer: Signalled, get: Get) -> NeuraphageError | None:
    """The error of a request that changed nothing; None where it was accepted, now or before.

    Args:
        task_id: the task.
        sent: the request.
        answer: of the store.
        get: reads the task, where what helps depends on it.
    """
    match answer.verdict:
        case SignalVerdict.ILLEGAL if (error := refused_edge(task_id, sent, answer)) is not None:
            return error
        case SignalVerdict.NOT_FOUND:
            return TaskNotFound(f"no task {task_id!r}; list them with `neuraphage list`")
        case SignalVerdict.ILLEGAL:
            asked = _ASKED.get(sent.kind, sent.kind.value)
            return IllegalMove(f"{task_id} is {answer.status}: it takes no {asked} now{_hint(task_id, answer, get)}")
        case SignalVerdict.AT_LIMIT:
            return LimitReached(f"{task_id}: {_limit_text(get(task_id), sent.kind)}")
        case SignalVerdict.PROMPT_NOT_OPEN:
            return PromptNotOpen(f"{task_id}: prompt {sent.prompt_id!r} is not open; it was answered or timed out")
        case SignalVerdict.FULL:
            return BadInput(f"{task_id} has too many unread messages; wait until it has read some")
        case SignalVerdict.NOT_HELD:
            return BadInput(f"{task_id} does not hold {sent.text!r} any more; `neuraphage locks` lists what is held")
        case SignalVerdict.GONE_ON:
            return IllegalMove(f"{task_id} has gone on meanwhile; `neuraphage show {get(task_id).short_id}` shows it")
        case SignalVerdict.NO_REPLY:
            return IllegalMove(
                f"{task_id}: the model has said nothing since the last message and the last results of tools, which it"
                f" must go on knowing; say what you want instead: {going_on(get(task_id))}"
            )
        case _:
            return refused_edge(task_id, sent, answer)


def _hint(task_id: str, answer: Signalled, get: Get) -> str:
    """What a person can do instead; nothing about a record that cannot be read."""
    try:
        return f"; {going_on(get(task_id), has_conversation=answer.has_conversation)}"
    except StoreError:
        return ""


def _limit_text(record: TaskRecord, kind: SignalKind) -> str:
    reached = limit_reached(record) or "A limit forbids a further call."
    match kind:
        case SignalKind.RETRY:
            return limit_failure(record) or "a limit forbids a further call; raise it"
        case SignalKind.RESUME:
            return f"{reached} To go on: {going_on(record)}."
        case SignalKind.RETRY_REPLY:
            again = after_raising(record, f"`neuraphage retry {record.short_id} --reply` asks again")
            return f"{reached} To go on: {again}."
    reached = limit_reached(anew(record)) or "A limit forbids a further call."
    return f"{reached} To go on: {reset(record) if kind is SignalKind.RESET else going_on(record)}."
