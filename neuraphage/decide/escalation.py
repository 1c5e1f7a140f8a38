"""When a task is given a stronger model by itself: after turns in a row that failed. Pure.

A turn failed when each of its calls did, or when it said nothing and called nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from neuraphage.decide.blank import is_blank
from neuraphage.decide.conversation import visible
from neuraphage.decide.tiers import resolved
from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.task import TaskRecord

ORDER = ("cheap", "worker", "expert")
"""Tiers from the weakest to the strongest; a task of another tier, or of a model by its id, stays with it."""

Entries = Sequence[Mapping[str, Any]]


def escalated(
    record: TaskRecord, entries: Entries, tiers: Mapping[str, Sequence[str]], after: int
) -> tuple[ModelChoice, str] | None:
    """The models of the next tier, and the reason; None where the task stays with its own.

    Args:
        record: of the task, at the beginning of a turn.
        entries: its conversation.
        tiers: of the settings.
        after: turns in a row that have to fail with the present models; 0 for never.
    """
    choice = record.choice
    if not after or choice.tier not in ORDER[:-1]:
        return None
    following = next((name for name in ORDER[ORDER.index(choice.tier) + 1 :] if name in tiers), None)
    if following is None or failed_in_a_row(entries, choice.since_turn) < after:
        return None
    stronger = resolved(following, tiers).model_copy(update={"since_turn": record.counters.iteration})
    return stronger, f"{after} turns in a row failed"


def failed_in_a_row(entries: Entries, since_turn: int) -> int:
    """Turns at the end of a conversation that failed, one behind the other, from this one on."""
    count = 0
    for turn, of_turn in _turns_from_the_last(entries):
        if turn < since_turn or not _has_failed(of_turn):
            break
        count += 1
    return count


def _turns_from_the_last(entries: Entries) -> Iterator[tuple[int, Entries]]:
    for turn, group in groupby(reversed(visible(entries)), key=lambda entry: int(entry.get("turn", 0))):
        yield turn, list(group)


def _has_failed(entries: Entries) -> bool:
    if not any(entry["role"] == "assistant" for entry in entries):
        return False
    blocks = [block for entry in entries for block in entry["content"]]
    calls = sum(block.get("type") == "tool_use" for block in blocks)
    if calls:
        results = [block for block in blocks if block.get("type") == "tool_result"]
        return len(results) >= calls and all(block.get("is_error") for block in results)
    said = (block for entry in entries if entry["role"] == "assistant" for block in entry["content"])
    return all(block.get("type") != "text" or is_blank(str(block.get("text") or "")) for block in said)
