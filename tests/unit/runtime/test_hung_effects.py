"""An effect that hangs in a thread: its lease runs out, and its process leaves, since a thread cannot be killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from neuraphage.model.tool import ToolDeclaration, ToolResult
from neuraphage.ports import Lease, ProcessRow
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.process import OVERDUE_EXIT_CODE, WorkerProcess
from neuraphage.testing import ManualClock
from patience import PATIENCE_S
from turnkit import FakeTool, Rig, SilentPresence, calls, says, until

MakeRig = Callable[..., Rig]


class Hanging:
    """A worker process whose tool hangs until the test lets it go."""

    def __init__(self, make_rig: MakeRig) -> None:
        self.entered, self.freed = threading.Event(), threading.Event()
        self.rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(act=self._hang)])
        self.clock = ManualClock(SystemClock().boottime_s())
        object.__setattr__(self.rig.services, "clock", self.clock)
        self.exits: list[int] = []
        self._thread: threading.Thread | None = None
        self.process = WorkerProcess(
            self.rig.services,
            self.rig.store,
            SilentPresence(),
            self.clock,
            self.rig.settings,
            ProcessRow("process", "here", 1, 1.0, 0),
            exit_process=self.exits.append,
        )

    def _hang(self, params: Any, context: Any) -> ToolResult:
        self.entered.set()
        assert self.freed.wait(PATIENCE_S)
        return ToolResult(text="late")

    def begin(self) -> str:
        """A task whose tool hangs."""
        task_id = self.rig.submit()
        self._thread = threading.Thread(target=self.process.run_turn, args=self.rig.dispatcher.messages.pop())
        self._thread.start()
        assert self.entered.wait(PATIENCE_S)
        return task_id

    def is_renewed(self, task_id: str) -> bool:
        """Whether a heartbeat that comes now renews the task's lease."""
        leases = self.rig.kit.keys.leases
        self.rig.client.zadd(leases, {task_id: 1})
        self.process.keeper.renew_now()
        return bool(self.rig.client.zscore(leases, task_id) != 1)

    def free(self) -> None:
        """Let the tool end after all."""
        self.freed.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_S)


@pytest.fixture
def hanging(make_rig: MakeRig) -> Iterator[Hanging]:
    """A process that is freed in the end."""
    made = Hanging(make_rig)
    yield made
    made.free()


def test_past_its_longest_duration_it_is_no_longer_renewed_and_the_process_exits(hanging: Hanging) -> None:
    """Until then it is; past it the lease is left to run out, nothing new starts, and the supervisor is told."""
    task_id = hanging.begin()
    hanging.clock.advance(hanging.rig.settings.effect_max_s - 1)
    assert hanging.is_renewed(task_id)
    assert not hanging.process.keeper.draining()
    hanging.clock.advance(2)
    assert not hanging.is_renewed(task_id)
    assert hanging.process.keeper.draining()
    until(lambda: hanging.exits == [OVERDUE_EXIT_CODE])
    assert not hanging.is_renewed(task_id), "also by every later heartbeat"


def test_the_other_turns_of_the_process_finish_their_step_first(hanging: Hanging) -> None:
    """Their leases are renewed meanwhile; the process exits when it holds none but the hung one."""
    task_id = hanging.begin()
    other = hanging.rig.kit.create()
    claim = hanging.rig.kit.claim(other)
    with hanging.process.keeper.hold(Lease(other, claim.fence, claim.claim_id), hanging.clock.boottime_s()):
        hanging.clock.advance(hanging.rig.settings.effect_max_s + 1)
        assert not hanging.is_renewed(task_id)
        assert hanging.is_renewed(other)
        assert hanging.exits == []
    until(lambda: hanging.exits == [OVERDUE_EXIT_CODE])


def test_the_timeout_that_a_tool_of_threads_declares_is_a_promise_only(make_rig: MakeRig) -> None:
    """As documented: no turn cuts it off, so its result counts however late it comes."""

    def act(params: Any, context: Any) -> ToolResult:
        start_s = time.monotonic()
        until(lambda: time.monotonic() > start_s)
        return ToolResult(text="late")

    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(act=act, timeout_s=1e-9)])
    assert rig.results(rig.run())["t1"]["content"] == "late"
    said = " ".join((ToolDeclaration.__doc__ or "").split())
    assert "The turn does not enforce it" in said
