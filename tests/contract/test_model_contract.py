"""Which models a task calls: set by a person, or by a turn in place of one that was refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.task import Status
from neuraphage.ports import Changes, CommitVerdict, FinishTo, ModelChange, SignalKind, SignalVerdict
from neuraphage.store import queries
from storekit import MODEL_CALL, StoreKit

OK, NO = SignalVerdict.ACCEPTED, SignalVerdict.ILLEGAL
EXPERT = ModelChoice(model="big", fallbacks=("openai:other",), tier="expert")
OTHER = ModelChoice(model="openai:other", tier="expert")
TOLD = {"by": "fallback", "from": "big", "reason": "not_found"}


def told(kit: StoreKit, task_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Kind and data of a task's events."""
    return [(event.kind, dict(event.data)) for event in queries.events(kit.store.context, task_id)]


def set_model(kit: StoreKit, task_id: str, choice: ModelChoice, why: str = "") -> SignalVerdict:
    """Send the signal."""
    return kit.send(task_id, SignalKind.MODEL, text=why, choice=choice, who="anna").verdict


def test_it_stands_in_the_record_and_not_in_the_spec(kit: StoreKit) -> None:
    """What was asked for at create never changes; the history says who, and why."""
    task_id = kit.create()
    record = kit.store.get(task_id)
    assert (record.model, record.choice) == (None, ModelChoice(model=record.spec.model))
    assert set_model(kit, task_id, EXPERT, "stuck") is OK
    record = kit.store.get(task_id)
    assert record.choice == record.model == EXPERT
    assert record.spec.model != "big"
    said = {"model": "big", "tier": "expert", "by": "user", "who": "anna", "reason": "stuck"}
    assert told(kit, task_id)[-1] == ("ModelChanged", said)


def test_no_model_is_none(kit: StoreKit) -> None:
    """A signal that names none says nothing."""
    task_id = kit.create()
    stood = kit.state()
    assert kit.send(task_id, SignalKind.MODEL).verdict is NO
    assert kit.state() == stood


def test_a_cancelled_task_takes_none(kit: StoreKit) -> None:
    """It is over for good."""
    task_id = kit.put(Status.CANCELLED)
    stood = kit.state()
    assert set_model(kit, task_id, EXPERT) is NO
    assert kit.state() == stood


@pytest.mark.parametrize("status", [Status.FAILED, Status.COMPLETED])
def test_an_ended_task_is_kept_no_longer(kit: StoreKit, status: Status) -> None:
    """Nothing of it stays for ever, even if its idempotency keys had gone before."""
    task_id = kit.put(status)
    kit.client.delete(kit.keys.signals(task_id))
    assert set_model(kit, task_id, EXPERT) is OK
    assert kit.leaked_keys() == []


def test_a_turn_sets_another_one(kit: StoreKit) -> None:
    """With the outcome of the refused call, and told once: a replay writes nothing more."""
    task_id, lease = kit.running()
    set_model(kit, task_id, EXPERT)
    changes = Changes(model=ModelChange(EXPERT, OTHER, TOLD))
    for _ in range(2):
        assert kit.store.commit(lease, changes).verdict is CommitVerdict.COMMITTED
    assert kit.store.get(task_id).choice == OTHER
    changed = [data for kind, data in told(kit, task_id) if kind == "ModelChanged"]
    assert changed[1:] == [{"model": "openai:other", "tier": "expert", **TOLD}]


def test_what_a_person_has_set_meanwhile_stays(kit: StoreKit) -> None:
    """A turn knows the models as they were when it began; a later word of a person is worth more."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(model=ModelChange(None, OTHER, TOLD)))
    assert kit.store.get(task_id).choice == OTHER
    set_model(kit, task_id, EXPERT)
    late = Changes(add=MODEL_CALL, model=ModelChange(OTHER, ModelChoice(model="third"), TOLD))
    kit.finish(replace(lease, token=1), FinishTo.NEXT, late)
    assert kit.store.get(task_id).choice == EXPERT
    assert [data["model"] for kind, data in told(kit, task_id) if kind == "ModelChanged"] == ["openai:other", "big"]


def test_retry_and_reset_keep_it(kit: StoreKit) -> None:
    """A person who has set a model after a failure means the work that goes on."""
    for kind in (SignalKind.RETRY, SignalKind.RESET):
        task_id = kit.put(Status.FAILED)
        set_model(kit, task_id, EXPERT)
        assert kit.send(task_id, kind).verdict is OK
        assert kit.store.get(task_id).choice == EXPERT
