"""A task as it goes, for programs: JSON, one document a line."""

from __future__ import annotations

from neuraphage.cli.console import print_json
from neuraphage.model.prompt import Event
from neuraphage.model.task import TaskRecord
from neuraphage.ports import Delta


class JsonLines:
    """Writes events and pieces of the reply as JSON, one document a line; comments are left out."""

    def line(self, text: str, style: str = "") -> None:
        """Nothing: comments are for people."""

    def show(self, item: Event | Delta) -> None:
        """One line."""
        if isinstance(item, Event):
            print_json({"event": item.kind, "id": item.event_id, "at_ms": item.at_ms, "data": item.data}, None)
        else:
            print_json({"delta": item.kind, "text": item.text}, None)

    def progress(self, record: TaskRecord) -> None:
        """Nothing: the history tells it."""

    def end_text(self) -> None:
        """Nothing: every document ends its line."""

    def begin(self, task_id: str) -> None:
        """Which task it is."""
        print_json({"task": task_id}, None)

    def end(self, record: TaskRecord) -> None:
        """The task as it stands at the end, with its open prompts."""
        counters = record.counters
        print_json(
            {
                "task": record.task_id,
                "status": record.status.value,
                "iteration": counters.iteration,
                "tokens": counters.tokens_used,
                "cost_microusd": counters.cost_microusd,
                "prompts": [prompt.model_dump(mode="json", exclude_none=True) for prompt in record.prompts],
            },
            None,
        )
