"""A turn that goes straight on announces its call of the model with its claim: one write less, nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.model.effect import MarkerName
from neuraphage.model.task import Status
from neuraphage.ports import Claimed, ClaimVerdict
from neuraphage.runtime.outcome import Outcome
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]


def between_turns(make_rig: MakeRig) -> tuple[Rig, str]:
    """A task whose first turn is over; its next message waits."""
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool()])
    task_id = rig.submit()
    rig.step()
    return rig, task_id


def counted(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the writes of turns from now on."""
    made: list[str] = []
    for name in ("claim", "commit", "suspend", "finish"):
        write = getattr(rig.store, name)

        def noted(*args: Any, name: str = name, write: Callable[..., Any] = write, **more: Any) -> Any:
            made.append(name)
            return write(*args, **more)

        monkeypatch.setattr(rig.store, name, noted)
    return made


def after_the_claim(rig: Rig, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Something happens once the next turn is claimed, before anything is decided."""
    claim = rig.store.claim

    def claims(*args: Any) -> Claimed:
        answer = claim(*args)
        assert answer.verdict is ClaimVerdict.GRANTED
        act()
        return answer

    monkeypatch.setattr(rig.store, "claim", claims)


def test_the_call_needs_no_write_of_its_own(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim and finish are all that the second turn writes; people are told of the call all the same."""
    rig, task_id = between_turns(make_rig)
    made = counted(rig, monkeypatch)
    rig.drain()
    assert made == ["claim", "finish"]
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.kinds(task_id).count("RequestSent") == rig.kinds(task_id).count("ResponseReceived") == 2
    assert len({request.request_id for request in rig.model.requests}) == 2
    rig.check()


def test_the_marker_stands_while_the_call_runs(make_rig: MakeRig) -> None:
    """Whoever looks in the midst of the call sees it announced under the lease that makes it."""
    rig, task_id = between_turns(make_rig)
    seen: list[Any] = []

    def look(*_: Any) -> Any:
        record, entry = rig.get(task_id), rig.journal(task_id)["model"]
        seen.append((record.marker.name, record.marker.request_id == entry.request_id, entry.fence == record.fence))
        return says("Done.")

    rig.model.steps[1] = look
    rig.drain()
    assert seen == [(MarkerName.REQUEST_SENT, True, True)]


def test_what_is_to_be_stored_first_is_stored_with_the_announcement(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working directory went meanwhile: the note is committed before the call that tells it."""
    rig, task_id = between_turns(make_rig)
    monkeypatch.setattr(rig.services.files, "problem", lambda folder: "It is gone.", raising=False)
    made = counted(rig, monkeypatch)
    rig.drain()
    assert made == ["claim", "commit", "finish"]
    assert "WorkingDirLost" in rig.kinds(task_id)
    assert rig.get(task_id).counters.model_resends == 0


def test_a_call_that_a_shutdown_forestalled_is_not_taken_for_billed(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim announced it, the process leaves before it is sent: the next one makes the first call."""
    rig, task_id = between_turns(make_rig)
    after_the_claim(rig, monkeypatch, rig.keeper.drain)
    rig.step()
    assert rig.journal(task_id) == {}
    made = rig.reborn()
    made.drain()
    assert made.get(task_id).status is Status.COMPLETED
    assert (len(rig.model.requests), made.get(task_id).counters.model_resends) == (2, 0)
    made.check()


def test_a_call_that_a_death_forestalled_may_be_billed(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows whether it was sent: it is made under the same id, and counted as sent again."""
    rig, task_id = between_turns(make_rig)

    def die() -> None:
        raise Killed

    after_the_claim(rig, monkeypatch, die)
    rig.dies()
    announced = rig.journal(task_id)["model"].request_id
    made = rig.recover(task_id)
    made.drain()
    assert made.get(task_id).status is Status.COMPLETED
    assert rig.model.requests[-1].request_id == announced
    assert made.get(task_id).counters.model_resends == 1
    made.check()


def test_a_cancel_that_came_with_the_claim_leaves_no_call(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person stops the task between claim and call: nothing is sent."""
    rig, task_id = between_turns(make_rig)

    def stop() -> None:
        rig.people.cancel(task_id)

    after_the_claim(rig, monkeypatch, stop)
    outcome = rig.step()
    assert rig.get(task_id).status is Status.CANCELLED
    assert outcome != Outcome.LOST.value
