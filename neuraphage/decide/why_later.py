"""Why a task waits for a time: its start, the model, money, a rate; plain sentences from facts."""

from __future__ import annotations

from neuraphage.decide.capacity import why_waits
from neuraphage.decide.duration import duration
from neuraphage.decide.pool_text import pool_text
from neuraphage.decide.start_times import start_text
from neuraphage.model.explanation import Forecast, TaskFacts
from neuraphage.model.place import Place
from neuraphage.model.task import TaskRecord


def later_start(record: TaskRecord) -> list[str]:
    """The time of one that waits for something else as well."""
    if record.starts_at_ms is None or record.place != Place.WAITS:
        return []
    return [f"It starts at {start_text(record.starts_at_ms)} at the earliest."]


def why_waits_for_time(facts: TaskFacts) -> tuple[list[str], list[Forecast]]:
    """Sentences about one that waits for a time, and what happens next."""
    left_ms = max(0, (facts.due_ms or 0) - facts.now_ms)
    if facts.record.starts_at_ms is not None:
        starts = f"It starts at {start_text(facts.record.starts_at_ms)}; until then it holds no worker and no slot."
        text = f"In {duration(left_ms)} it goes to a worker, or stands in line for a slot."
        return [starts], [Forecast(text=text, in_ms=left_ms)]
    because = ["A model call failed in a way that passes; it waits before it asks again."]
    if facts.record.shortage is not None:
        because = [pool_text(facts.record.shortage)]
    elif facts.held is not None and facts.held.held is not None:
        kind, most = facts.held.held
        begun = f"It has begun {most} {kind.value} within a minute, the most that `task_{kind.value}_per_minute` allows"
        because = [f"{begun}; its next call, {facts.held.tool}, waits and holds no worker."]
    elif facts.awaits is not None:
        because = [why_waits(*facts.awaits, facts.awaits_model or facts.record.choice.model)]
    elif facts.due_ms is not None and facts.due_ms == facts.record.unsafe_until_ms:
        because = ["A former worker was only seen absent, and may still act; its next call waits for the end of that."]
    return because, [Forecast(text=f"In {duration(left_ms)} it goes to a worker.", in_ms=left_ms)]
