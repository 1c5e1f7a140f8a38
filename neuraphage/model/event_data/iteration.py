"""Data of events of one turn: calls of the model and of tools, and words with people."""

from __future__ import annotations

from neuraphage.model.event_data.base import EventData


class RequestHeld(EventData):
    """Data of RequestHeld.

    Args:
        why: rate_limited, overloaded, exhausted, probe, requests, input_tokens, output_tokens (docs/rate-limits.md).
        until_ms: until when at most.
    """

    why: str
    until_ms: int


class RequestSent(EventData):
    """Data of RequestSent and RequestAttached.

    Args:
        request_id: of the request; the same for every call of it.
        attempt: number of the call, from 1.
        fence: of the lease under which it was sent.
        purpose: summary, where it asks for one; empty for a reply.
        model: of a summary: who is asked for it.
        why_own: of a summary: why that is the task's own model and no cheaper one; empty for nothing to tell.
    """

    request_id: str
    attempt: int
    fence: int
    purpose: str = ""
    model: str = ""
    why_own: str = ""


class RequestFailed(EventData):
    """Data of RequestFailed.

    Args:
        request_id: of the request.
        fault: kind of the fault.
        retry_at_ms: when it is repeated; none where it is not.
        cost_microusd: what it had cost all the same.
        model: of a summary whose model gives way to the task's own: who had been asked.
        why_own: why it does; empty where it does not.
    """

    request_id: str
    fault: str
    retry_at_ms: int | None = None
    cost_microusd: int = 0
    model: str = ""
    why_own: str = ""


class ResponseReceived(EventData):
    """Data of ResponseReceived.

    Args:
        request_id: of the request.
        stop: the reply's stop reason.
        cost_microusd: its cost.
        purpose: summary, where it is one; empty for a reply.
    """

    request_id: str
    stop: str | None
    cost_microusd: int
    purpose: str = ""


class ContextCompacted(EventData):
    """Data of ContextCompacted.

    Args:
        how: images, results, thoughts or summary (docs/context.md).
        before_tokens: estimated length of the request before.
        after_tokens: and after it.
        model: who made a summary; empty where none was made.
        why_own: why that was the task's own model and no cheaper one; empty for nothing to tell.
    """

    how: str
    before_tokens: int
    after_tokens: int
    model: str = ""
    why_own: str = ""


class ToolHeld(EventData):
    """Data of ToolHeld.

    Args:
        tool: its name.
        id: of the call.
        rate: which one: commands or writes.
        most: of these within a minute.
        wait_ms: how long it waits.
    """

    tool: str
    id: str
    rate: str
    most: int
    wait_ms: int


class ToolCalled(EventData):
    """Data of ToolStarted and ToolAttached.

    Args:
        tool: its name.
        id: of the call; parameters and result stand in the conversation under it.
    """

    tool: str
    id: str


class ToolCompleted(EventData):
    """Data of ToolCompleted.

    Args:
        tool: its name.
        id: of the call.
        error: whether the result is an error.
        unknown: whether nothing knows if the call ran: its worker died.
    """

    tool: str
    id: str
    error: bool
    unknown: bool


class OpenPrompt(EventData):
    """One prompt of UserInputNeeded.

    Args:
        id: of the prompt.
        kind: permission, question or conversation.
    """

    id: str
    kind: str


class UserInputNeeded(EventData):
    """Data of UserInputNeeded.

    Args:
        prompts: those that are open; `neuraphage inbox` shows their texts.
    """

    prompts: tuple[OpenPrompt, ...] = ()


class InputReceived(EventData):
    """Data of InputReceived.

    Args:
        by: user.
        who: the person's name, as their machine knows it.
        prompt: id of the prompt that it was sent to, if to one.
    """

    by: str
    who: str = ""
    prompt: str = ""


class AnswerReceived(EventData):
    """Data of AnswerReceived.

    Args:
        by: user, or timeout for the prompt's own answer at its deadline.
        prompt: id of the prompt.
        who: the person's name, as their machine knows it.
        answer: where it is one plain word; AnswerTaken and the decisions about permissions have the others.
    """

    by: str
    prompt: str
    who: str = ""
    answer: str = ""


class AnswerTaken(EventData):
    """Data of AnswerTaken.

    Args:
        prompt: id of the prompt.
        answer: perhaps shortened.
    """

    prompt: str
    answer: str
