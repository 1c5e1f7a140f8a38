"""What is told outside of an open prompt: which task asks what, in words that hold no secret. Pure."""

from __future__ import annotations

from typing import Any

from neuraphage.decide.asking import asks_line
from neuraphage.decide.seen_text import spelled
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord

OPENED, WAITING = "opened", "waiting"
"""Why it is told: the prompt has just opened, or has been open for `prompt_wait_s`."""


def events_due(prompt: Prompt, now_ms: int, grace_ms: int, wait_ms: int | None) -> tuple[str, ...]:
    """Of which event people are to have been told by now: of the last one alone, for an old one helps nobody.

    Args:
        prompt: that is open.
        now_ms: server time.
        grace_ms: so long it is left to the worker that opened it.
        wait_ms: it has waited long after so long; None for never.
    """
    age_ms = now_ms - prompt.opened_at_ms
    if wait_ms is not None and age_ms >= wait_ms:
        return (WAITING,)
    return (OPENED,) if age_ms >= grace_ms else ()


def next_look_ms(prompt: Prompt, now_ms: int, grace_ms: int, wait_ms: int | None) -> int:
    """When another event of a prompt will be due, server time; far off for none. Arguments as of `events_due`."""
    times = [prompt.opened_at_ms + after for after in (grace_ms, wait_ms) if after is not None]
    return min([at for at in times if at > now_ms], default=now_ms + 10**12)


def notice(record: TaskRecord, prompt: Prompt, event: str) -> dict[str, Any]:
    """A notice as JSON has it.

    Args:
        record: of the task that asks.
        prompt: what it asks.
        event: OPENED or WAITING.
    """
    return {
        "event": event,
        "task_id": record.task_id,
        "task_name": spelled(record.spec.name),
        "priority": record.spec.priority,
        "prompt_id": prompt.prompt_id,
        "kind": prompt.kind.value,
        "tool": prompt.tool,
        "asks": asks_line(prompt),
        "opened_at_ms": prompt.opened_at_ms,
        "deadline_ms": prompt.deadline_ms,
    }


def as_variables(told: dict[str, Any]) -> dict[str, str]:
    """The same as environment variables, PROMPT_EVENT and so on; what does not apply is left out."""
    names = {name: name.upper().removeprefix("PROMPT_") for name in told}
    return {f"PROMPT_{names[name]}": str(value) for name, value in told.items() if value is not None}
