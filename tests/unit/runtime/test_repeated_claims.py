"""A claim whose answer was lost is asked for again, and is the same claim."""

from __future__ import annotations

from collections.abc import Callable

from neuraphage.errors import StoreUnavailable
from neuraphage.model.task import Status
from neuraphage.ports import Claimed
from turnkit import Rig, says

MakeRig = Callable[..., Rig]


def test_a_claim_whose_answer_was_lost_keeps_its_id(make_rig: MakeRig) -> None:
    """The server granted it and the answer did not come: the repeat gets the lease at once, in the same turn."""
    rig = make_rig(says("Done."))
    task_id = rig.submit()
    claim, asked = rig.store.claim, []

    def loses_the_first_answer(task: str, seq: int, process_id: str, *ids: str) -> Claimed:
        answer = claim(task, seq, process_id, *ids)
        asked.append(ids)
        if len(asked) == 1:
            raise StoreUnavailable("the answer was lost")
        return answer

    rig.store.claim = loses_the_first_answer  # type: ignore[method-assign]  # a lost answer
    rig.step()
    assert len(asked) == 2
    assert len(set(asked)) == 1
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.kit.number(task_id, "fence") == 1
