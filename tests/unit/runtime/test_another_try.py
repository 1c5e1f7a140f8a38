"""/retry in a conversation: the model is asked again, without the reply that is superseded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.errors import IllegalMove
from neuraphage.model.task import CompletedDetail, Mode, Status
from neuraphage.ports import Signalled
from turnkit import FakeTool, Rig, calls, says, texts

MakeRig = Callable[..., Rig]
TALKING = {"mode": Mode.CONVERSATIONAL}


def again(rig: Rig, task_id: str, key: str | None = None) -> Signalled:
    """Ask for another try, and take the turn."""
    answer = rig.people.retry_reply(rig.get(task_id), rig.entries(task_id), key)
    rig.drain()
    return answer


@pytest.mark.parametrize("mode", list(Mode))
def test_the_model_is_asked_as_before(make_rig: MakeRig, mode: Mode) -> None:
    """The very messages of the request whose reply is superseded; both replies are stored, and both are paid."""
    rig = make_rig(says("Hm."), says("The other answer."))
    task_id = rig.run(mode=mode)
    assert again(rig, task_id).status is Status.QUEUED
    first, second = rig.model.requests
    assert first.messages == second.messages
    assert first.request_id != second.request_id
    record = rig.get(task_id)
    assert record.status is (Status.COMPLETED if mode is Mode.AUTONOMOUS else Status.WAITING_FOR_USER)
    assert (record.counters.model_calls, record.counters.cost_microusd) == (2, 200)
    assert [entry["content"][0]["text"] for entry in rig.entries(task_id) if entry["role"] == "assistant"] == [
        "Hm.",
        "The other answer.",
    ]
    assert rig.kinds(task_id).count("ReplySuperseded") == 1
    rig.check()


def test_it_goes_on_from_there(make_rig: MakeRig) -> None:
    """A message behind it, and a second try at the same question."""
    rig = make_rig(says("One."), says("Two."), says("Three."), says("Four."))
    task_id = rig.run(**TALKING)
    again(rig, task_id)
    again(rig, task_id)
    rig.people.send(task_id, "and now?")
    rig.drain()
    assert texts(rig.model.requests[-1].messages) == ["Do it.", "Three.", "and now?"]
    rig.check()


def test_a_repeat_asks_once(make_rig: MakeRig) -> None:
    """A request whose first answer was lost is told that it was taken."""
    rig = make_rig(says("One."), says("Two."))
    task_id = rig.run(**TALKING)
    assert again(rig, task_id, "k").verdict.value == "ACCEPTED"
    assert again(rig, task_id, "k").verdict.value == "REPEATED"
    assert len(rig.model.requests) == 2


def test_what_tools_did_stays_known(make_rig: MakeRig) -> None:
    """Only the words behind the last results are superseded; nothing is run again by it."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "act", {}), text="I act."), says("Done."), says("Done, really."), extra=[tool])
    task_id = rig.run(**TALKING)
    again(rig, task_id)
    assert len(tool.runs) == 1
    assert rig.model.requests[-1].messages == rig.model.requests[-2].messages
    assert "acted" in str(rig.model.requests[-1].messages)


def test_a_task_that_the_model_called_complete(make_rig: MakeRig) -> None:
    """The call and its result go together; the summary is that of the other try."""
    rig = make_rig(
        calls(("t1", "complete_task", {"summary": "First."})), calls(("t2", "complete_task", {"summary": "Second."}))
    )
    task_id = rig.run()
    again(rig, task_id)
    assert rig.model.requests[0].messages == rig.model.requests[1].messages
    record = rig.get(task_id)
    assert isinstance(record.detail, CompletedDetail)
    assert record.detail.summary == "Second."
    rig.check()


def test_a_worker_that_dies_in_the_other_try_costs_no_more_than_any(make_rig: MakeRig) -> None:
    """The next process reads the same conversation."""
    from turnkit import Killed

    rig = make_rig(says("Hm."), Killed(), says("The other answer."))
    task_id = rig.run(**TALKING)
    rig.people.retry_reply(rig.get(task_id), rig.entries(task_id))
    rig.dies()
    rig = rig.recover(task_id)
    rig.drain()
    requests = rig.model.requests
    assert requests[0].messages == requests[1].messages == requests[2].messages
    assert requests[1].request_id == requests[2].request_id
    rig.check()


def test_who_has_nothing_to_retry_is_told_what_to_do(make_rig: MakeRig) -> None:
    """No reply, a reply that another message has followed, and states of other kinds."""
    rig = make_rig(calls(("t1", "ask_user", {"question": "Which?"})), says("Hm."), says("So."))
    task_id = rig.run(**TALKING)
    with pytest.raises(IllegalMove, match="WaitingForUser: it takes no other try at a reply now; `neuraphage answer"):
        again(rig, task_id)
    rig.people.answer(task_id, None, "that one")
    rig.drain()
    record, entries = rig.get(task_id), rig.entries(task_id)
    with pytest.raises(IllegalMove, match=r"said nothing since .*`neuraphage send"):
        rig.people.retry_reply(record, entries[:-1])
    rig.people.send(task_id, "and now?")
    rig.drain()
    before = rig.entries(task_id)
    with pytest.raises(IllegalMove, match="has gone on meanwhile; `neuraphage show"):
        rig.people.retry_reply(record, entries)
    assert rig.entries(task_id) == before
