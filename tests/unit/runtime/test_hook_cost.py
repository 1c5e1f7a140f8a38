"""What hooks cost: nothing where there are none, and no write of their own where guards judge calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.hooks import guard, observer
from neuraphage.testing import Recorder
from turnkit import FakeTool, Rig, calls, recorded, says

MakeRig = Callable[..., Rig]
TURNS = 5


def writes(make_rig: MakeRig, *hooks: Any) -> list[str]:
    """Calls of the store in a task of some turns with a tool each, and the events of them."""
    replies = [calls((f"t{n}", "act", {"n": n})) for n in range(TURNS)]
    rig = make_rig(*replies, says("Done."), extra=[FakeTool()], hooks=hooks)
    task_id = rig.submit()
    recorder = Recorder()
    recorded(rig, recorder)
    rig.drain()
    assert len(rig.called(task_id)) == TURNS
    return [call.name for call in recorder.calls]


@pytest.mark.parametrize("point", ["PreToolUse", "PostToolUse", "SecurityPolicyCheck", "PostLLMCall", "LoopIteration"])
def test_guards_of_calls_replies_and_the_loop_write_nothing_of_their_own(make_rig: MakeRig, point: str) -> None:
    """What they say is part of a write that is made anyway."""
    assert writes(make_rig, guard(point)(lambda payload: None)) == writes(make_rig)


def test_observers_cost_a_turn_nothing(make_rig: MakeRig) -> None:
    """A worker of turns does not call them."""
    assert writes(make_rig, observer("ToolCompleted")(lambda event: None)) == writes(make_rig)


@pytest.mark.parametrize("point", ["PreContextAssembly", "PostContextAssembly", "PreLLMCall"])
def test_a_guard_of_requests_costs_one_write_a_turn(make_rig: MakeRig, point: str) -> None:
    """A claim cannot announce a request that is not judged yet."""
    without, judged = writes(make_rig), writes(make_rig, guard(point)(lambda payload: None))
    assert len(judged) == len(without) + TURNS
