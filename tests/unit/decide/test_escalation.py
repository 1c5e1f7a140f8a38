"""After which turns a task is given a stronger model by itself."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from neuraphage.decide.escalation import escalated, failed_in_a_row
from neuraphage.decide.superseding import superseding
from neuraphage.model.effect import Marker, MarkerName
from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.task import QueuedDetail, Status, TaskRecord, TaskSpec
from neuraphage.model.usage import Counters

TIERS = {"cheap": ("small",), "worker": ("middle", "other"), "expert": ("big",)}
Entry = dict[str, Any]
SPEC = TaskSpec(task_id=f"task-{uuid.UUID(int=7)}", name="n", prompt="p", model="m")


@pytest.fixture
def record() -> TaskRecord:
    """A task that was just made."""
    return TaskRecord(
        spec=SPEC,
        status=Status.QUEUED,
        detail=QueuedDetail(queued_at_ms=0),
        marker=Marker(name=MarkerName.TASK_CREATED),
        counters=Counters(),
        seq=1,
        fence=0,
    )


def turn(number: int, *errors: bool, text: str = "") -> list[Entry]:
    """A turn with a call for each of these, which failed or did not, behind words."""
    calls = [{"type": "tool_use", "id": f"t{number}-{i}", "name": "x", "input": {}} for i in range(len(errors))]
    results = [
        {"type": "tool_result", "tool_use_id": f"t{number}-{i}", "content": "r", **({"is_error": True} if bad else {})}
        for i, bad in enumerate(errors)
    ]
    words = [{"type": "text", "text": text}] if text else []
    entries: list[Entry] = [{"role": "assistant", "content": words + calls, "turn": number}]
    return entries + [{"role": "user", "content": [result], "turn": number} for result in results]


ASKED: Entry = {"role": "user", "content": [{"type": "text", "text": "Do it."}], "turn": 0}


@pytest.mark.parametrize(
    ("turns", "count"),
    [
        ([], 0),
        ([turn(0, True), turn(1, True, True)], 2),
        ([turn(0, True), turn(1, True, False), turn(2, True)], 1),
        ([turn(0, True, text="I try."), turn(1)], 2),
        ([turn(0, True), turn(1, text="I am done.")], 0),
        ([turn(0, True), turn(1, True), turn(2, text=" \n")], 3),
        ([turn(0, False)], 0),
    ],
)
def test_failed_turns_are_counted_from_the_last(turns: list[list[Entry]], count: int) -> None:
    """All calls failed, or nothing came; one that worked, or words, end the row."""
    assert failed_in_a_row([ASKED, *(entry for one in turns for entry in one)], 0) == count


def test_those_of_another_model_do_not_count() -> None:
    """It begins anew with each model."""
    entries = [ASKED, *turn(0, True), *turn(1, True), *turn(2, True)]
    assert [failed_in_a_row(entries, since) for since in (0, 1, 2, 3)] == [3, 2, 1, 0]


def test_what_is_superseded_does_not_count() -> None:
    """A person has put it aside."""
    entries = [ASKED, *turn(0, True), *turn(1, text=" ")]
    hidden = superseding(len(entries) - 1, 2).model_dump(by_alias=True)
    assert failed_in_a_row([*entries, hidden], 0) <= 1


@pytest.mark.parametrize(
    ("tier", "after", "failed", "model"),
    [
        ("cheap", 2, 2, "middle"),
        ("worker", 2, 3, "big"),
        ("cheap", 2, 1, None),
        ("cheap", 0, 9, None),
        ("expert", 2, 9, None),
        ("mine", 2, 9, None),
        (None, 2, 9, None),
    ],
)
def test_the_next_tier(record: TaskRecord, tier: str | None, after: int, failed: int, model: str | None) -> None:
    """Only up, only from a tier, and only where the settings say so."""
    choice = ModelChoice(model="m", tier=tier)
    now = record.model_copy(update={"model": choice, "counters": record.counters.model_copy(update={"iteration": 9})})
    entries = [ASKED, *(entry for number in range(failed) for entry in turn(number, True))]
    found = escalated(now, entries, TIERS, after)
    if model is None:
        assert found is None
        return
    assert found is not None
    assert (found[0].model, found[0].since_turn, found[1]) == (model, 9, f"{after} turns in a row failed")


def test_a_tier_that_is_not_there_is_passed_over(record: TaskRecord) -> None:
    """From cheap to expert, where nobody has a worker."""
    now = record.model_copy(update={"model": ModelChoice(model="m", tier="cheap")})
    found = escalated(now, [ASKED, *turn(0, True)], {"cheap": ("a",), "expert": ("big",)}, 1)
    assert found is not None
    assert found[0].model == "big"
    assert escalated(now, [ASKED, *turn(0, True)], {"cheap": ("a",)}, 1) is None
