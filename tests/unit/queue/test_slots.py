"""A free slot wakes the consumer, in the process that has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from celery.worker import state

from neuraphage.queue.patched import slots


class RecordingHub:
    """A loop that counts how often it is woken."""

    def __init__(self) -> None:
        self.woken = 0

    def call_soon(self, callback: Callable[[], None]) -> None:
        callback()
        self.woken += 1


class Consumer:
    """What the step sees of Celery's consumer."""

    def __init__(self, hub: RecordingHub | None) -> None:
        self.hub = hub


class Request:
    """A message in hand."""

    id = "turn-1"


@pytest.fixture
def hub() -> Iterator[RecordingHub]:
    """A started consumer; forgotten after the test."""
    hub = RecordingHub()
    slots.FreeSlotStep.start(object.__new__(slots.FreeSlotStep), Consumer(hub))
    yield hub
    slots._Consumer.hub = None


def test_the_end_of_a_turn_frees_its_slot_and_wakes_the_consumer(hub: RecordingHub) -> None:
    """By the time the loop is woken, the slot already counts as free: else it would go back to sleep."""
    request = Request()
    state.requests[request.id] = request
    state.reserved_requests.add(request)
    try:
        slots.free_slot(task_id=request.id)
        assert request not in state.reserved_requests
        assert hub.woken == 1
    finally:
        del state.requests[request.id]


def test_a_message_that_is_unknown_wakes_all_the_same(hub: RecordingHub) -> None:
    """A doubled message may have taken the other's place in Celery's table."""
    slots.free_slot(task_id="turn-2")
    assert hub.woken == 1


def test_a_forked_child_leaves_its_parents_loop_alone(hub: RecordingHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop was inherited through a fork and belongs to the parent."""
    monkeypatch.setattr(slots._Consumer, "pid", -1)
    slots.free_slot(task_id="turn-1")
    assert hub.woken == 0
