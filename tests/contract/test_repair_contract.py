"""repair: whatever index is lost or damaged comes back from the records, and nothing else changes."""

from __future__ import annotations

import pytest
from test_invariant_contract import BREACHES

from neuraphage.model.repairing import RepairMode, RepairResult, RepairVerdict
from neuraphage.model.task import TERMINAL, Status
from neuraphage.ports import Changes, ClaimVerdict, CommitVerdict, FinishTo, SignalKind, SignalVerdict, SuspendTo
from neuraphage.store import invariant, queries
from neuraphage.store.repair import examine, survey
from storekit import ASK, MODEL_CALL, StoreKit, question, text_entry

LEFT_TO_PEOPLE = {"no status", "unknown status"}
"""Breaches of which no record tells what would be right."""
FAILED_FOR_GOOD = {"no marker", "marker is no JSON", "a fence that is no number", "no fence", "a seq that is no number"}


def run(kit: StoreKit, mode: RepairMode = RepairMode.REPAIR, batch: int = 1_000) -> list[RepairResult]:
    """Everything that a survey tells."""
    return [row for rows in survey(kit.store.context, mode, batch) for row in rows if row.findings]


@pytest.mark.parametrize("name", BREACHES)
def test_each_breach_is_told_and_put_right(kit: StoreKit, name: str) -> None:
    """A look tells it and changes nothing; a repair puts it right; a second one finds nothing."""
    status, break_it, _ = BREACHES[name]
    task_id, bystander = kit.put(status), kit.waiting(question("other", deadline_ms=10**13))
    before_all = kit.state()
    break_it(kit, task_id)
    broken = kit.state()
    assert run(kit, RepairMode.LOOK)
    assert kit.state() == broken
    told = run(kit)
    assert bystander not in {row.name for row in told}
    assert {k: v for k, v in kit.state().items() if bystander in k} == {
        k: v for k, v in before_all.items() if bystander in k
    }
    if name in LEFT_TO_PEOPLE:
        kit.broken_on_purpose = True
        assert {row.verdict for row in told} == {RepairVerdict.LEFT}
        return
    assert {row.verdict for row in told} == {RepairVerdict.REPAIRED}
    assert run(kit) == []
    assert invariant.violations(kit.store.context) == []
    if name in FAILED_FOR_GOOD:
        assert kit.status(task_id) is Status.FAILED


@pytest.mark.parametrize("status", Status)
def test_every_index_comes_back(kit: StoreKit, status: Status) -> None:
    """All indexes at once are gone: place, status, ids, deadlines and retention of each task come back."""
    task_id = kit.put(status)
    indexes = [getattr(kit.keys, n) for n in ("outbox", "leases", "timers", "waits", "ids", "deadlines", "retention")]
    kit.client.delete(*indexes, *kit.keys.statuses)
    run(kit)
    assert kit.status(task_id) is status
    assert invariant.violations(kit.store.context) == []
    assert [i for i, _ in queries.ids_by_creation(kit.store.context)] == [task_id]
    if status not in TERMINAL and status is not Status.BLOCKED:
        goes_on(kit, task_id)


def goes_on(kit: StoreKit, task_id: str) -> None:
    """The task comes to its end."""
    if kit.status(task_id) is Status.PAUSED:
        kit.send(task_id, SignalKind.RESUME)
    if kit.status(task_id) is Status.WAITING_FOR_USER:
        assert kit.send(task_id, SignalKind.ANSWER, prompt_id=ASK, text="yes").verdict is SignalVerdict.ACCEPTED
    lease = kit.claim(task_id)
    assert kit.finish(lease, FinishTo.COMPLETED).verdict in (CommitVerdict.COMMITTED, CommitVerdict.CANCELLED)


def test_a_sound_lease_is_left_alone(kit: StoreKit) -> None:
    """Beside a running worker a repair changes nothing of its task, and the worker writes on."""
    _, lease = kit.running()
    before = kit.state()
    assert run(kit) == []
    assert kit.state() == before
    assert kit.store.commit(lease, Changes(add=MODEL_CALL)).verdict is CommitVerdict.COMMITTED


def test_whoever_held_a_lost_lease_writes_no_more(kit: StoreKit) -> None:
    """Its entry in leases is gone: fence and seq go up, and the next turn waits for its deadline before it acts."""
    task_id, lease = kit.running()
    seq = kit.number(task_id, "seq")
    kit.client.zrem(kit.keys.leases, task_id)
    run(kit)
    assert (kit.place(task_id), kit.number(task_id, "seq")) == ("outbox", seq + 1)
    assert kit.number(task_id, "fence") == lease.fence + 1
    assert kit.number(task_id, "unsafe_until") > kit.store.now_ms()
    assert kit.store.commit(lease, Changes(add=MODEL_CALL)).verdict is CommitVerdict.STALE
    assert kit.try_claim(task_id, seq=seq).verdict is ClaimVerdict.STALE


def test_a_lease_wins_over_other_places(kit: StoreKit) -> None:
    """A Running task in leases and in the outbox stays with its holder."""
    task_id, lease = kit.running()
    kit.client.zadd(kit.keys.outbox, {task_id: 1})
    kit.client.zadd(kit.keys.waits, {task_id: 1})
    run(kit)
    assert kit.place(task_id) == "leases"
    assert kit.store.commit(lease, Changes(add=MODEL_CALL)).verdict is CommitVerdict.COMMITTED


def test_a_lease_of_a_task_that_was_never_claimed_goes(kit: StoreKit) -> None:
    """A Queued task in leases: it is queued anew, and nobody can write under the old fence."""
    task_id = kit.create()
    fence = kit.number(task_id, "fence")
    kit.client.zrem(kit.keys.outbox, task_id)
    kit.client.zadd(kit.keys.leases, {task_id: 10**13})
    run(kit)
    assert (kit.place(task_id), kit.number(task_id, "fence")) == ("outbox", fence + 1)


def test_a_lost_answer_can_be_given_again(kit: StoreKit) -> None:
    """The prompt counts as answered, and the answer is gone: it is open again, with its deadline."""
    task_id, lease = kit.running()
    kit.suspend(lease, SuspendTo.WAIT, Changes(prompts_opened=(question(deadline_ms=10**13), question("b"))))
    kit.client.hset(kit.keys.task(task_id), f"a:{ASK}", "key")
    kit.client.zrem(kit.keys.deadlines, f"{task_id}|{ASK}")
    run(kit)
    assert kit.client.zscore(kit.keys.deadlines, f"{task_id}|{ASK}") == 10**13
    assert kit.send(task_id, SignalKind.ANSWER, prompt_id=ASK, text="yes").place == "outbox"


def test_an_answer_that_woke_nobody_wakes_its_task(kit: StoreKit) -> None:
    """What the task waits for stands in the inbox."""
    task_id = kit.waiting()
    other = kit.waiting()
    raw = kit.plant(other, "answer", ASK)
    kit.client.rpush(kit.keys.inbox(task_id), raw)
    run(kit)
    assert (kit.status(task_id), kit.place(task_id)) == (Status.QUEUED, "outbox")
    assert [stored for stored, _ in kit.try_claim(task_id).inbox] == [raw]


@pytest.mark.parametrize("key", ["task", "messages", "turn", "events", "why"])
def test_a_living_task_is_saved_from_its_expiry(kit: StoreKit, key: str) -> None:
    """Keys of a task that is not over expire never."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(entries=(text_entry("x"),), add=MODEL_CALL))
    kit.client.hset(kit.keys.turn(task_id), "model", '{"state":"started"}')
    kit.client.rpush(kit.keys.why(task_id), '{"at_ms":1,"reading":"{}"}')
    kit.client.pexpire(getattr(kit.keys, key)(task_id), 10**7)
    (told,) = run(kit)
    assert "expire" in " ".join(told.findings)
    assert kit.client.pttl(getattr(kit.keys, key)(task_id)) == -1


def test_an_ended_task_expires_again(kit: StoreKit) -> None:
    """A key that would stay for ever gets the time of a conversation."""
    task_id = kit.put(Status.COMPLETED)
    kit.client.persist(kit.keys.messages(task_id))
    run(kit)
    assert kit.client.pttl(kit.keys.messages(task_id)) > 0


def test_what_is_left_of_a_lost_record_goes_in_time(kit: StoreKit) -> None:
    """The conversation is kept for people to look at, and then deleted with all indexes."""
    task_id = kit.create()
    kit.client.delete(kit.keys.task(task_id))
    (told,) = run(kit)
    assert "record is gone" in " ".join(told.findings)
    assert kit.place(task_id) == ""
    assert kit.client.pttl(kit.keys.messages(task_id)) > 0
    assert kit.store.delete(task_id, force=True)
    assert queries.ids_by_creation(kit.store.context) == []


def test_an_id_of_nothing_goes(kit: StoreKit) -> None:
    """An index names a task of which no key is left."""
    for key in (kit.keys.ids, kit.keys.status(Status.QUEUED), kit.keys.outbox):
        kit.client.zadd(key, {"task-none": 1})
    run(kit)
    assert kit.state() == {}


def test_an_ended_task_whose_keys_expired_is_left_to_delete(kit: StoreKit) -> None:
    """Its index entries are no breach until its retention is over."""
    task_id = kit.put(Status.COMPLETED)
    kit.client.delete(*kit.client.keys(kit.keys.task(task_id) + "*"))
    before = kit.state()
    assert run(kit) == []
    assert kit.state() == before


INDEXES = (
    "outbox",
    "leases",
    "timers",
    "waits",
    "deadlines",
    "suspects",
    "retention",
    "ids",
    "processes",
    "tombstones",
)


@pytest.mark.parametrize("name", INDEXES)
def test_a_damaged_index_is_put_aside_and_built_anew(kit: StoreKit, name: str) -> None:
    """It is told by a look, kept for people, and every task of every status stands where it should."""
    ids = [kit.put(status) for status in Status]
    kit.client.set(getattr(kit.keys, name), "damaged")
    (told,) = run(kit, RepairMode.LOOK)
    assert told.name == getattr(kit.keys, name)
    run(kit)
    assert invariant.violations(kit.store.context) == []
    assert {i for i, _ in queries.ids_by_creation(kit.store.context)} == set(ids)
    aside = kit.client.keys(kit.keys.damaged.replace("[", "\\[") + "*")
    assert [kit.client.get(key) for key in aside] == [b"damaged"]
    assert all(kit.client.pttl(key) > 0 for key in aside)


@pytest.mark.parametrize("key", ["messages", "turn", "inbox", "events", "signals", "why"])
def test_a_damaged_key_of_a_task(kit: StoreKit, key: str) -> None:
    """Without its conversation or journal the task fails for good; without the others it goes on."""
    task_id = kit.waiting()
    kit.client.delete(getattr(kit.keys, key)(task_id))
    kit.client.set(getattr(kit.keys, key)(task_id), "damaged")
    assert run(kit, RepairMode.LOOK)
    (told,) = run(kit)
    assert told.verdict is RepairVerdict.REPAIRED
    assert invariant.violations(kit.store.context) == []
    if key in ("messages", "turn"):
        assert kit.status(task_id) is Status.FAILED
        assert kit.send(task_id, SignalKind.RETRY).verdict is SignalVerdict.ILLEGAL
    else:
        goes_on(kit, task_id)


def test_a_damaged_record_is_left_to_people(kit: StoreKit) -> None:
    """Nothing tells what it was; nothing is changed."""
    task_id = kit.create()
    kit.client.set(kit.keys.task(task_id), "damaged")
    kit.broken_on_purpose = True
    before = kit.state()
    (told,) = run(kit)
    assert told.verdict is RepairVerdict.LEFT
    assert kit.state() == before


def test_what_a_newer_release_wrote_is_left_alone(kit: StoreKit) -> None:
    """Its rules are not known here; only the index of ids takes it in."""
    task_id = kit.create()
    kit.client.hset(kit.keys.task(task_id), mapping={"schema": 99, "status": "Dreaming"})
    kit.client.zrem(kit.keys.ids, task_id)
    kit.broken_on_purpose = True
    assert [row.verdict for row in run(kit)] == [RepairVerdict.NEWER]
    assert [i for i, _ in queries.ids_by_creation(kit.store.context)] == [task_id]
    assert kit.field(task_id, "status") == "Dreaming"


def test_tasks_of_an_earlier_release_are_listed(kit: StoreKit) -> None:
    """The slow pass adds them to the index of all ids, in their order, and changes nothing else."""
    ids = [kit.create() for _ in range(3)]
    for number, task_id in enumerate(ids):
        kit.client.hset(kit.keys.task(task_id), "created_at", 1_000 + number)
    kit.client.delete(kit.keys.ids)
    kit.client.zrem(kit.keys.outbox, ids[0])
    kit.broken_on_purpose = True
    run(kit, RepairMode.LIST)
    assert queries.ids_by_creation(kit.store.context, newest_first=False) == [
        (task_id, 1_000 + number) for number, task_id in enumerate(ids)
    ]
    assert kit.place(ids[0]) == ""


def test_small_batches_find_the_same(kit: StoreKit) -> None:
    """However few keys are read at once, a survey comes to its end and finds all."""
    ids = [kit.create() for _ in range(12)]
    kit.client.delete(kit.keys.outbox)
    kit.client.zadd(kit.keys.waits, {f"task-{n}": n for n in range(12)})
    told = run(kit, batch=3)
    assert {row.name for row in told} == {*ids, *(f"task-{n}" for n in range(12))}


def test_a_repair_is_told_to_who_asks_why(kit: StoreKit) -> None:
    """The decisions of a task hold what was put right."""
    task_id = kit.create()
    kit.client.zrem(kit.keys.outbox, task_id)
    examine(kit.store.context, [task_id], RepairMode.REPAIR)
    (decision,) = queries.decisions(kit.store.context, task_id)
    assert decision["reading"]["verdict"] == "repaired"
    assert "no place" in decision["reading"]["reason"]


def test_an_edge_that_was_made_meanwhile_stays(kit: StoreKit) -> None:
    """It was in question when the index was read; the record has it by now."""
    first = kit.create()
    waiting = kit.after(first)
    told = examine(kit.store.context, [waiting], RepairMode.REPAIR, edges=[f"{first} {waiting}"])
    assert [row.verdict for row in told] == [RepairVerdict.SOUND]
