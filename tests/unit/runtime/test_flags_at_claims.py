"""What a claim gives back that meets a flag of a person is put to work in that very step."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.model.task import Status
from neuraphage.runtime.outcome import Outcome
from turnkit import FakeModel, new_rig, says


@pytest.mark.parametrize(("flag", "stands"), [("cancel", Status.CANCELLED), ("pause", Status.PAUSED)])
def test_the_next_in_line_gets_its_message_at_once(tmp_path: Path, flag: str, stands: Status) -> None:
    """No sweep comes by: the worker whose claim was refused publishes whom the slot has gone to."""
    rig = new_rig(tmp_path, FakeModel(says("Done.")), max_running=1)
    rig.store.adjust()
    first, second = rig.submit("One."), rig.submit("Two.")
    rig.dispatcher.messages[:] = [(first, 1)]
    rig.client.hset(rig.store.context.keys.task(first), flag, 1)
    assert rig.step() == Outcome.NOT_RUNNABLE
    assert rig.get(first).status is stands
    assert rig.dispatcher.messages == [(second, rig.get(second).seq)]
    rig.drain()
    assert rig.get(second).status is Status.COMPLETED
    rig.check()
