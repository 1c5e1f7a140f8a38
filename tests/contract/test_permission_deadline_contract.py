"""How long a permission waits: by the server's clock, whatever has become of those who asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import Status
from neuraphage.ports import SignalKind, SignalVerdict
from neuraphage.runtime.sweep import Sweep
from neuraphage.store import queries
from storekit import StoreKit, question
from turnkit import LocalDispatcher

DAY_S = 86_400.0
Later = Callable[[float], None]


@pytest.fixture
def pass_time(kit: StoreKit, monkeypatch: pytest.MonkeyPatch) -> Later:
    """Moves the server's clock by so many seconds from now on, and sweeps."""
    real = kit.store.now_ms

    def later(seconds: float) -> None:
        monkeypatch.setattr(kit.store, "now_ms", lambda: real() + int(seconds * 1000))
        Sweep(kit.store, LocalDispatcher(), kit.store.clock, kit.store.context.settings).run(guarded=False)

    return later


def permission(kit: StoreKit, timeout_s: float | None) -> Prompt:
    deadline_ms = None if timeout_s is None else kit.store.now_ms() + int(timeout_s * 1000)
    answer = None if timeout_s is None else "no"
    asked = question(deadline_ms=deadline_ms)
    return asked.model_copy(update={"kind": PromptKind.PERMISSION, "default_answer": answer})


def answers(kit: StoreKit, task_id: str) -> list[str]:
    """Who answered, by the history."""
    found = queries.events(kit.store.context, task_id)
    return [event.data["by"] for event in found if event.kind == "AnswerReceived"]


def test_a_permission_is_denied_at_its_deadline_and_no_sooner(kit: StoreKit, pass_time: Later) -> None:
    """Once, however often the sweep comes by."""
    task_id = kit.waiting(permission(kit, 300.0))
    pass_time(295)
    assert (kit.status(task_id), answers(kit, task_id)) == (Status.WAITING_FOR_USER, [])
    pass_time(301)
    pass_time(400)
    assert (kit.status(task_id), kit.place(task_id)) == (Status.QUEUED, "outbox")
    assert answers(kit, task_id) == ["timeout"]


def test_without_a_deadline_it_waits_for_ever(kit: StoreKit, pass_time: Later) -> None:
    """More than a year, and a person's answer still counts."""
    asked = permission(kit, None)
    task_id = kit.waiting(asked)
    pass_time(400 * DAY_S)
    assert (kit.status(task_id), kit.place(task_id)) == (Status.WAITING_FOR_USER, "waits")
    assert kit.send(task_id, SignalKind.ANSWER, prompt_id=asked.prompt_id, text="yes").verdict is SignalVerdict.ACCEPTED
    assert answers(kit, task_id) == ["user"]


def test_a_stack_that_stood_still_past_the_deadline(kit: StoreKit, pass_time: Later) -> None:
    """Nobody swept at the deadline: a person who is faster than the next sweep is heard, and no one after them."""
    asked = permission(kit, 300.0)
    task_id = kit.waiting(asked)
    assert kit.send(task_id, SignalKind.ANSWER, prompt_id=asked.prompt_id, text="yes").verdict is SignalVerdict.ACCEPTED
    pass_time(3 * DAY_S)
    assert answers(kit, task_id) == ["user"]


def test_a_paused_task_misses_its_deadline_too(kit: StoreKit, pass_time: Later) -> None:
    """It stays paused; the answer waits for it."""
    task_id = kit.waiting(permission(kit, 300.0))
    kit.send(task_id, SignalKind.PAUSE)
    pass_time(301)
    assert (kit.status(task_id), answers(kit, task_id)) == (Status.PAUSED, ["timeout"])
