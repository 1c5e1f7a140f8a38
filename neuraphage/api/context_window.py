"""What fills the context window of a task."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from neuraphage.api.asked_files import AskedFiles

if TYPE_CHECKING:
    from neuraphage.model.context_size import ContextSize


class ContextWindow(AskedFiles):
    """The next request of a task by its parts."""

    def context_size(self, task_id: str) -> ContextSize:
        """How much the next request of a task would hold, and of what. All of its conversation is read.

        The tools are those of this machine; a worker may have others.

        Raises:
            TaskNotFound, StoreUnavailable, StoreError: see `get`.
        """
        # only a person asks, and seldom
        from neuraphage.decide import context_parts as parts  # noqa: PLC0415 - as above
        from neuraphage.decide.compaction import measured  # noqa: PLC0415 - as above
        from neuraphage.decide.context_bounds import bounds_of  # noqa: PLC0415 - as above
        from neuraphage.decide.context_size import tokens_of  # noqa: PLC0415 - as above
        from neuraphage.decide.conversation import api_messages  # noqa: PLC0415 - as above
        from neuraphage.decide.request_head import system_blocks  # noqa: PLC0415 - as above
        from neuraphage.model.context_size import ContextSize  # noqa: PLC0415 - as above

        record = self.get(task_id)
        entries, counters = self.conversation(record.task_id), record.counters
        messages = api_messages(entries)
        system, tools = system_blocks(record.spec), self._ports.tool_definitions()
        bounds = bounds_of(self.settings, self._ports.model_facts(record.choice.model), record.spec.max_tokens)
        found = measured(entries, replace(bounds, head_tokens=tokens_of(system) + tokens_of(tools)))
        return ContextSize(
            messages=len(messages),
            chars=sum(len(json.dumps(message, ensure_ascii=False, default=str)) for message in messages),
            turns=counters.iteration,
            tokens_used=counters.tokens_used,
            window_tokens=bounds.window_tokens,
            limit_tokens=bounds.limit_tokens,
            tokens=found.tokens,
            counted_tokens=found.counted,
            parts=parts.context_parts(entries, system, tools),
            biggest=parts.biggest_results(entries),
            compactions=parts.past_compactions(entries),
        )
