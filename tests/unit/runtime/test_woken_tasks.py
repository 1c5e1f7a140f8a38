"""Who was put to work by the end of another task is sent at once, by whoever ended that one."""

from __future__ import annotations

from neuraphage.api.service import TaskService
from neuraphage.model.dependency import OnFailure
from neuraphage.model.recovery import Evidence
from neuraphage.model.task import Status
from neuraphage.runtime.sweep import Sweep
from storekit import FixedClock, new_kit


class Sent:
    """Implements ports.Dispatcher by a list."""

    def __init__(self) -> None:
        self.turns: list[tuple[str, int, int]] = []

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        self.turns.append((task_id, iteration, seq))
        return bool(after)

    def queue_length(self) -> int | None:
        return 0


class Plain:
    """Implements ports.Redaction for texts without secrets."""

    def text(self, text: str) -> str:
        return text

    def json(self, value: object) -> object:
        return value


def test_a_recovery_that_gives_a_task_up_sends_who_waited() -> None:
    """The sweep and the watcher send it, besides what they have recovered."""
    kit, sent = new_kit(max_recoveries=1), Sent()
    first, _ = kit.running()
    waiting = kit.after(first, on_failure=OnFailure.GO_ON)
    Sweep(kit.store, sent, FixedClock(), kit.store.context.settings).recover(kit.held(first), Evidence.GONE)
    assert kit.status(first) is Status.FAILED
    assert sent.turns == [(waiting, 0, 2)]
    kit.check()


def test_a_cancel_sends_who_waited() -> None:
    """The client that ended the task sends it; a task that is itself released is sent once."""
    kit, sent = new_kit(), Sent()
    first = kit.create()
    waiting, other = kit.after(first, on_failure=OnFailure.GO_ON), kit.create()
    people = TaskService(kit.store, sent, Plain(), lambda: "key")  # type: ignore[arg-type]  # no more of it is used
    people.cancel(first)
    assert sent.turns == [(waiting, 0, 2)]
    kit.depend(waiting, other)
    assert kit.status(waiting) is Status.BLOCKED
    people.depend(waiting, kit.store.get(waiting).dependencies[-1], holds=False)
    assert sent.turns[1:] == [(waiting, 0, 4)]
    kit.check()
