"""A turn tells of the prompts that it has opened, behind the commit that opened them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from neuraphage.model.effect import EffectClass
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import Mode, Status, TaskRecord
from neuraphage.ports import Lease, Settled, Signal, SignalKind
from turnkit import FakeTool, Rig, calls, says


class Told:
    """Implements ports.PromptNotices: what was told, and what was stored by then."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.prompts: list[tuple[str, bool]] = []

    def opened(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        stored = self.rig.get(record.task_id).prompts
        self.prompts += [(prompt.kind.value, prompt in stored) for prompt in prompts]


def told_of(rig: Rig) -> Told:
    told = Told(rig)
    object.__setattr__(rig.services, "notices", told)
    return told


def test_permissions_are_told_once_they_are_stored(make_rig: Callable[..., Rig]) -> None:
    """Each of them; a turn that waits on tells nothing again."""
    tool = FakeTool(name="guarded", effect_class=EffectClass.OPAQUE, side_effecting=True)
    rig = make_rig(calls(("t1", "guarded", {}), ("t2", "guarded", {})), says("Done."), extra=[tool])
    told = told_of(rig)
    rig.run(allow=())
    assert told.prompts == [("permission", True)] * 2


def test_a_conversation_is_told_of_too(make_rig: Callable[..., Rig]) -> None:
    """It is the person's turn."""
    rig = make_rig(says("Hello."))
    told = told_of(rig)
    rig.run(mode=Mode.CONVERSATIONAL)
    assert told.prompts == [("conversation", True)]


def test_a_task_that_asks_nothing_tells_nothing(make_rig: Callable[..., Rig]) -> None:
    """Most turns."""
    rig = make_rig(says("Done."))
    told: Any = told_of(rig)
    rig.run()
    assert told.prompts == []


def test_what_was_cancelled_is_not_told(make_rig: Callable[..., Rig], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can answer it any more."""
    tool = FakeTool(name="guarded", effect_class=EffectClass.OPAQUE, side_effecting=True)
    rig = make_rig(calls(("t1", "guarded", {})), extra=[tool])
    told, suspend = told_of(rig), rig.store.suspend

    def cancelled(lease: Lease, *args: Any, **more: Any) -> Settled:
        rig.store.signal(lease.task_id, Signal(SignalKind.CANCEL, "c"))
        return suspend(lease, *args, **more)

    monkeypatch.setattr(rig.store, "suspend", cancelled)
    task_id = rig.run(allow=())
    assert rig.get(task_id).status is Status.CANCELLED
    assert told.prompts == []
