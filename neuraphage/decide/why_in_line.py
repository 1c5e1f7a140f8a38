"""Why a task is not at work yet where that is limited: plain sentences from facts."""

from __future__ import annotations

from neuraphage.decide.duration import duration
from neuraphage.decide.line_text import place_text, taken_text
from neuraphage.model.explanation import Forecast, TaskFacts


def why_in_line(facts: TaskFacts) -> tuple[list[str], list[Forecast]]:
    """Sentences about one task in line, and what happens next."""
    line = facts.line
    if line is None:
        return ["It has left the line this moment."], []
    because = [f"It has waited {duration(facts.now_ms - line.since_ms)} for a slot, and holds no worker."]
    because += [taken_text(pool) for pool in line.taken]
    because.append(f"{place_text(line)}.")
    text = (
        "It goes on by itself when a slot is free and its turn has come; `neuraphage admission` shows slots and line."
    )
    return because, [Forecast(text=text)]
