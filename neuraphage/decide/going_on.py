"""What a person can type to go on with a task, by where it stands. A test types each of these in each state."""

from __future__ import annotations

from neuraphage.decide.asking import short_prompt_id
from neuraphage.decide.limits import limit_reached, raising
from neuraphage.decide.pool_text import raising_pool
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import FailedDetail, PausedDetail, Status, TaskRecord

TEXT = '"..."'
"""Stands for what a person wants to say."""


def going_on(record: TaskRecord, *, has_conversation: bool = True) -> str:
    """A sentence that names the command which goes on with a task.

    Args:
        record: the task.
        has_conversation: whether its stored conversation is there; without it an ended task cannot go on.
    """
    anew = f"submit a new task: `neuraphage submit {TEXT}`"
    short = record.short_id
    match record.status:
        case Status.PAUSED:
            resume = _raised_first(record, f"`neuraphage resume {short}` goes on with it")
            shortage = record.detail.shortage if isinstance(record.detail, PausedDetail) else None
            return resume if shortage is None else f"{raising_pool(shortage)} raises the pool, then {resume}"
        case Status.WAITING_FOR_USER:
            return f"`{answering(record)}` goes on with it"
        case Status.COMPLETED | Status.FAILED if not has_conversation:
            return f"its conversation is gone, so nothing goes on with it; {anew}"
        case Status.COMPLETED:
            return after_raising(record, f"`neuraphage send {short} {TEXT}` goes on with its conversation")
        case Status.FAILED:
            return _after_failure(record)
        case Status.CANCELLED:
            return f"nothing goes on with it; {anew}"
        case Status.BLOCKED:
            return f"it goes on by itself, `neuraphage why {short}` says when"
        case _:
            return f"it is at work, `neuraphage attach {short}` shows it"


def _after_failure(record: TaskRecord) -> str:
    short = record.short_id
    if isinstance(record.detail, FailedDetail) and record.detail.recoverable:
        options = raising(record)
        if not options and limit_reached(record) is not None:  # the highest limit of turns
            return reset(record)
        return f"`{' '.join(('neuraphage retry', short, *options))}` goes on from the last step"
    return f"a retry cannot help; correct the cause, then {reset(record)}"


def reset(record: TaskRecord) -> str:
    """How a failed task is started anew; its cost counts on, so that a limit of money may have to be raised first."""
    return after_raising(anew(record), f"`neuraphage recover --reset {record.short_id}` starts it anew")


def anew(record: TaskRecord) -> TaskRecord:
    """The task as it would stand after a reset, as far as limits go."""
    counters = record.counters.model_copy(update={"iteration": 0})
    return record.model_copy(update={"counters": counters, "turns_from": 0})


def after_raising(record: TaskRecord, what: str) -> str:
    """A sentence about a command that counts turns anew, after the one that raises the limits which forbid it."""
    return _raised_first(record.model_copy(update={"turns_from": record.counters.iteration}), what)


def _raised_first(record: TaskRecord, what: str) -> str:
    options = raising(record)
    first = f"`neuraphage limit {record.short_id} {' '.join(options)}` raises its limit, then " if options else ""
    return first + what


def answering(record: TaskRecord) -> str:
    """The command that answers what a task has asked; ANSWER and the dots stand for what a person wants to say."""
    short = record.short_id
    prompt = next(iter(record.prompts), None)
    if prompt is None or prompt.kind is PromptKind.CONVERSATION:
        return f"neuraphage send {short} {TEXT}"
    return f"neuraphage answer {short} {short_prompt_id(prompt)} ANSWER"


def when_read(record: TaskRecord) -> str:
    """When the model reads a message that was just sent."""
    match record.status:
        case Status.PAUSED if isinstance(record.detail, PausedDetail) and record.detail.anomaly is not None:
            return f"the task goes on with it; `neuraphage attach {record.short_id}` shows the task"
        case Status.PAUSED:
            return f"it is read when the task goes on: {going_on(record)}"
        case Status.WAITING_FOR_USER:
            return f"it is read once what the task asked is answered: {going_on(record)}"
        case _:
            return f"it is read with the next request; `neuraphage attach {record.short_id}` shows the task"
