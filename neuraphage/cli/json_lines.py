"""A task as it goes, for programs: JSON, one document a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuraphage.cli.console import print_json
from neuraphage.decide.limits import turn_number
from neuraphage.model.event import Event
from neuraphage.model.event_stream import EventGap
from neuraphage.model.shown import ShownPrompt
from neuraphage.model.task import TaskRecord, WaitingForUserDetail
from neuraphage.ports import Delta


class JsonLines:
    """Writes events and pieces of the reply as JSON, one document a line; comments are left out."""

    def line(self, text: str, style: str = "") -> None:
        """Nothing: comments are for people."""

    def gap(self, gap: EventGap) -> None:
        """Write that events may be missing."""
        print_json({"gap": gap.why.value, "after": gap.after, "until": gap.until or None}, None)

    def show(self, item: Event | Delta) -> None:
        """Write an event or a piece of the reply."""
        if isinstance(item, Event):
            print_json(_event_json(item), None)
        else:
            print_json({"delta": item.kind, "text": item.text}, None)

    def progress(self, record: TaskRecord) -> None:
        """Nothing: the history tells it."""

    def end_text(self) -> None:
        """Nothing: every document ends its line."""

    def begin(self, task_id: str) -> None:
        """Write which task it is."""
        print_json(named(task_id), None)

    def end(self, record: TaskRecord, shown: Sequence[ShownPrompt]) -> None:
        """The task as it stands at the end, with its open prompts and all of what they ask.

        Args:
            record: the task.
            shown: its open prompts.
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
                "prompts": [_without_nulls(prompt_json(one)) for one in shown],
            },
            None,
        )


def _event_json(event: Event) -> dict[str, Any]:
    return {
        "event": event.kind,
        "id": event.event_id,
        "at_ms": event.at_ms,
        "task_id": event.task_id,
        "group": event.group,
        "iteration": event.turn,
        "fence": event.fence,
        "cause": event.cause,
        "schema_version": event.schema_version,
        "data": event.data,
    }


def named(task_id: str) -> dict[str, str]:
    """A task under the name that every command has for it, and under the one that 0.1.0 had here."""
    return {"task_id": task_id, "task": task_id}


def with_prompts(record: TaskRecord, shown: Sequence[ShownPrompt]) -> dict[str, Any]:
    """A record as JSON; each open prompt with all that a person is shown of it, and the parameters of its call.

    Args:
        record: the task.
        shown: its open prompts.
    """
    plain = record.model_dump(mode="json")
    plain["prompts"] = [prompt_json(one) for one in shown]
    if isinstance(record.detail, WaitingForUserDetail):
        plain["detail"]["prompts"] = plain["prompts"]
    return plain


def prompt_json(shown: ShownPrompt) -> dict[str, Any]:
    """An open prompt as JSON, nothing left out."""
    from neuraphage.cli.prompts import proposed  # noqa: PLC0415 - few documents have an open prompt

    params = None if shown.params is None else dict(shown.params)
    return {
        **shown.prompt.model_dump(mode="json"),
        "params": params,
        "proposed_rules": list(proposed(shown)),
        "shown": shown.shown,
        "is_whole": shown.is_whole,
    }


def _without_nulls(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if value is not None}
