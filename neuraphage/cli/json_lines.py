"""A task as it goes, for programs: JSON, one document a line."""

from __future__ import annotations

from typing import Any

from neuraphage.cli.console import print_json
from neuraphage.cli.transcript import Transcript
from neuraphage.decide.limits import turn_number
from neuraphage.model.event import Event
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord, WaitingForUserDetail
from neuraphage.ports import Delta


class JsonLines:
    """Writes events and pieces of the reply as JSON, one document a line; comments are left out."""

    def line(self, text: str, style: str = "") -> None:
        """Nothing: comments are for people."""

    def show(self, item: Event | Delta) -> None:
        """Write an event or a piece of the reply."""
        if isinstance(item, Event):
            print_json({"event": item.kind, "id": item.event_id, "at_ms": item.at_ms, "data": item.data}, None)
        else:
            print_json({"delta": item.kind, "text": item.text}, None)

    def progress(self, record: TaskRecord) -> None:
        """Nothing: the history tells it."""

    def end_text(self) -> None:
        """Nothing: every document ends its line."""

    def begin(self, task_id: str) -> None:
        """Write which task it is."""
        print_json(named(task_id), None)

    def end(self, record: TaskRecord, transcript: Transcript) -> None:
        """The task as it stands at the end, with its open prompts and all of what they ask.

        Args:
            record: the task.
            transcript: holds the calls.
        """
        counters = record.counters
        print_json(
            {
                **named(record.task_id),
                "status": record.status.value,
                "iteration": counters.iteration,
                "turn": turn_number(record),
                "tokens": counters.tokens_used,
                "cost_microusd": counters.cost_microusd,
                "prompts": [_prompt(record, prompt, transcript) for prompt in record.prompts],
            },
            None,
        )


def named(task_id: str) -> dict[str, str]:
    """A task under the name that every command has for it, and under the one that 0.1.0 had here."""
    return {"task_id": task_id, "task": task_id}


def with_params(record: TaskRecord, transcript: Transcript, *, rules: bool = False) -> dict[str, Any]:
    """A record as JSON; each open prompt with the parameters of the call that it is about, nothing left out.

    Args:
        record: the task.
        transcript: holds the calls.
        rules: whether each has the rules that may be made of it, too; they take a look at its command line.
    """
    plain = record.model_dump(mode="json")
    prompts = [{**prompt.model_dump(mode="json"), "params": _params(prompt, transcript)} for prompt in record.prompts]
    for prompt, shown in zip(record.prompts, prompts if rules else (), strict=False):
        shown["proposed_rules"] = _proposed(record, prompt, transcript)
    plain["prompts"] = prompts
    if isinstance(record.detail, WaitingForUserDetail):
        plain["detail"]["prompts"] = prompts
    return plain


def _prompt(record: TaskRecord, prompt: Prompt, transcript: Transcript) -> dict[str, Any]:
    params = _params(prompt, transcript)
    plain = prompt.model_dump(mode="json", exclude_none=True)
    rules = _proposed(record, prompt, transcript)
    return plain if params is None else {**plain, "params": params, "proposed_rules": rules}


def _proposed(record: TaskRecord, prompt: Prompt, transcript: Transcript) -> list[str]:
    from neuraphage.cli.prompts import proposed  # noqa: PLC0415 - few documents have an open prompt

    call = transcript.call(prompt.tool_use_id) if prompt.tool_use_id else None
    return list(proposed(record, prompt, call))


def _params(prompt: Prompt, transcript: Transcript) -> dict[str, Any] | None:
    call = transcript.call(prompt.tool_use_id) if prompt.tool_use_id else None
    return None if call is None else dict(call.params)
