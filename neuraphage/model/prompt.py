"""What a task asks a person, and what people send to a task."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from neuraphage.model.base import Frozen


class PromptKind(StrEnum):
    """What the task waits for."""

    PERMISSION = "permission"
    QUESTION = "question"
    CONVERSATION = "conversation"


class Prompt(Frozen):
    """One open question to a person. Its id never changes once committed.

    Args:
        prompt_id: derived from task, turn and tool_use id.
        kind: permission, question or conversation.
        text: what the person reads.
        options: the answers that are understood; empty for free text.
        tool: permission: the tool that asks.
        tool_use_id: the call it belongs to.
        params_summary: permission, or a call that was interrupted: its parameters, shortened.
        params_hash: permission: digest of tool and canonical parameters.
        digest: permission: what a yes is bound to (decide/sealing.py): the call, its files as they are, the rules; None
            from a release that bound it to `params_hash`.
        opened_at_ms: server time.
        deadline_ms: server time at which `default_answer` is given for the person; None for no limit.
        default_answer: the answer given at the deadline.
        call_index: number of the call among those of its reply, from 0; prompts are listed in this order.
    """

    prompt_id: str
    kind: PromptKind
    text: str
    options: tuple[str, ...] = ()
    tool: str | None = None
    tool_use_id: str | None = None
    params_summary: str | None = None
    params_hash: str | None = None
    digest: str | None = None
    opened_at_ms: int = 0
    deadline_ms: int | None = None
    default_answer: str | None = None
    call_index: int = 0


PERMISSION_OPTIONS = ("yes", "no", "always", "never")
"""Answers to a permission prompt."""


class InboxItem(Frozen):
    """Input or an answer from a person, kept until a commit consumes it.

    Args:
        kind: `input` (words to the model, also those that answered a prompt which waited for any) or `answer`.
        key: idempotency key of the signal.
        text: the words.
        prompt_id: answer: the prompt it answers.
        at_ms: server time of arrival.
        by: who sent it, as far as known (`user`, `timeout`).
        who: name of the person, as their machine knows it.
        attachments: of input: fields of `Attachment`, each.
    """

    kind: Literal["input", "answer"]
    key: str
    text: str
    prompt_id: str | None = None
    at_ms: int = 0
    by: str = "user"
    who: str | None = None
    attachments: tuple[dict[str, Any], ...] = ()
