"""What `why` reads and forecasts, held against what the scripts then do."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.api.reads import rules_of
from neuraphage.decide.why import explain, outcome
from neuraphage.model.effect import Marker, MarkerName
from neuraphage.model.explanation import Explanation, TaskFacts
from neuraphage.model.recovery import RecoveryDecision
from neuraphage.ports import Changes, ProcessRow, RecoverVerdict, SignalKind, SuspendTo
from neuraphage.store import queries, task_facts
from neuraphage.store.presence import NamedConnection
from stackkit.waiting import wait_for
from storekit import StoreKit, question

BEGUN = Changes(marker=Marker(name=MarkerName.REQUEST_SENT, request_id="r"))


def read(kit: StoreKit, task_id: str) -> TaskFacts:
    return task_facts.task_facts(kit.store.context, task_id)


def why(kit: StoreKit, task_id: str) -> Explanation:
    return explain(read(kit, task_id), rules_of(kit.store.context.settings))


def last(kit: StoreKit, task_id: str) -> RecoveryDecision:
    return task_facts.task_decisions(kit.store.context, task_id)[-1].reading


def test_the_next_publication(real_kit: StoreKit) -> None:
    """The forecast is the time that the sweep goes by, after every publication."""
    kit = real_kit
    task_id = kit.create()
    first_ms = kit.store.context.settings.first_republish_s * 1000
    for times in range(3):
        found = read(kit, task_id)
        assert found.publications == times
        (forecast,) = why(kit, task_id).next
        assert forecast.in_ms is not None
        assert 0 < forecast.in_ms <= first_ms * 2**times
        in_time = kit.store.now_ms() + forecast.in_ms
        assert task_id not in kit.store.due_outbox(in_time - 1_000, 10)
        assert task_id in kit.store.due_outbox(in_time + 1_000, 10)
        kit.due("outbox", task_id)
        assert kit.store.republish(task_id) is not None


def test_publications_are_kept_as_one_decision(kit: StoreKit) -> None:
    """The last one of a message stands for all of them, so that recoveries before it are kept."""
    task_id, _ = kit.running()
    kit.recover(task_id)
    for _ in range(3):
        kit.due("outbox", task_id)
        kit.store.republish(task_id)
    kept = [row["reading"] for row in queries.decisions(kit.store.context, task_id)]
    assert [row["verdict"] for row in kept] == ["recovered", "republished"]
    found = last(kit, task_id)
    assert (found.evidence, found.publications, found.recoveries) == ("due", 3, 1)
    assert found.dispatch_age_ms is not None
    assert found.next_due_ms is not None
    assert found.next_due_ms > kit.store.now_ms()
    lease = kit.claim(task_id)
    kit.suspend(lease, SuspendTo.SHUTDOWN)
    assert kit.store.republish(task_id, ahead_ms=10**9) is not None
    assert (last(kit, task_id).evidence, last(kit, task_id).publications) == ("quiet", 1)
    assert len(queries.decisions(kit.store.context, task_id)) == 3


def test_timers_polls_and_deadlines_are_kept(kit: StoreKit) -> None:
    """Each with its reason."""
    timed, lease = kit.running()
    kit.suspend(lease, SuspendTo.TIMER, due_ms=kit.store.now_ms() - 1)
    assert kit.store.fire(timed, "timers") is not None
    assert (last(kit, timed).verdict, last(kit, timed).evidence) == ("fired", "due")
    blocked, lease = kit.running()
    kit.suspend(lease, SuspendTo.BLOCKED, detail={"resource": "file:a"})
    assert kit.store.fire(blocked, "blocked") is not None
    assert (last(kit, blocked).verdict, last(kit, blocked).evidence) == ("fired", "poll")
    asked = kit.waiting(question("ask-1", deadline_ms=1))
    kit.send(asked, SignalKind.ANSWER, text="no", prompt_id="ask-1", by="timeout")
    assert last(kit, asked).verdict == "deadline"
    answered = kit.waiting(question("ask-1"))
    kit.send(answered, SignalKind.ANSWER, text="yes", prompt_id="ask-1")
    assert queries.decisions(kit.store.context, answered) == []


def test_the_second_visit(real_kit: StoreKit) -> None:
    """It recovers at the time that was forecast, and not before."""
    kit = real_kit
    task_id, _ = kit.running()
    kit.expire_lease(task_id, ago_ms=-1_500)
    assert why(kit, task_id).next[-1].text == "The next visit marks it suspect; a second one decides."
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.SUSPECT
    second_ms = why(kit, task_id).next[-1].in_ms
    heartbeats_ms = int(kit.store.context.settings.heartbeat_s * 2000)
    assert second_ms is not None
    assert heartbeats_ms - 2_000 < second_ms <= heartbeats_ms
    kit.age_mark(task_id, by_ms=second_ms)
    assert "the second visit (in " in why(kit, task_id).next[-1].text  # the lease itself has still to run out
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.SUSPECT


@pytest.mark.parametrize(
    ("settings", "verdict", "words"),
    [
        ({}, RecoverVerdict.RECOVERED, "it goes on from its marker"),
        ({"max_recoveries": 1}, RecoverVerdict.FAILED, "it fails, at 1 recoveries"),
        ({"saved_max_age_s": 0.001}, RecoverVerdict.FAILED, "too old"),
        ({"recovery_policy": "confirm"}, RecoverVerdict.PAUSED, "until a person resumes"),
        ({"flag": SignalKind.PAUSE}, RecoverVerdict.PAUSED, "as a person asked"),
        ({"flag": SignalKind.CANCEL}, RecoverVerdict.CANCELLED, "it is cancelled"),
        ({"fresh": True}, RecoverVerdict.RECOVERED, "it starts over"),
    ],
)
def test_the_outcome_of_a_recovery(
    kit: StoreKit, settings: dict[str, Any], verdict: RecoverVerdict, words: str
) -> None:
    """The forecast is what `recover` then does."""
    settings = dict(settings)
    flag, fresh = settings.pop("flag", None), settings.pop("fresh", False)
    under = kit.under(**settings)
    task_id, lease = under.running()
    if not fresh:
        under.store.commit(lease, BEGUN)
    if flag is not None:
        under.send(task_id, flag)
    under.client.hincrby(under.keys.task(task_id), "saved_at", -1_000)
    record = queries.get(under.store.context, task_id)
    given = TaskFacts(record=record, now_ms=under.store.now_ms())
    assert words in outcome(given, rules_of(under.store.context.settings))
    assert under.recover(task_id).verdict is verdict


def test_who_holds_it(real_kit: StoreKit) -> None:
    """From the registry and from the connections that stand."""
    kit = real_kit
    task_id = kit.create()
    kit.claim(task_id, process="p7")
    found = read(kit, task_id).holder
    assert found is not None
    assert (found.process_id, found.pid, found.connected) == ("p7", None, False)
    kit.store.register(ProcessRow("p7", "host-1", 4_711, 1.0, 0))
    socket = kit.client.connection_pool.connection_kwargs["path"]
    presence = NamedConnection(f"unix://{socket}", kit.store.context.settings.namespace, "p7")
    presence.wait(0.01)
    found = read(kit, task_id).holder
    presence.close()
    assert found is not None
    assert (found.pid, found.host, found.connected) == (4_711, "host-1", True)
    kit.store.unregister(["p7"])


def test_only_connected_workers_count(real_kit: StoreKit) -> None:
    """A killed one stays registered while nobody watches its host, and would look as if it were busy."""
    kit = real_kit
    task_id = kit.create()
    kit.store.register(ProcessRow("p7", "host-1", 4_711, 1.0, 0))
    socket = kit.client.connection_pool.connection_kwargs["path"]
    presence = NamedConnection(f"unix://{socket}", kit.store.context.settings.namespace, "p7")
    presence.wait(0.01)
    assert read(kit, task_id).workers == 1
    presence.close()
    wait_for(lambda: read(kit, task_id).workers == 0, "the server to see the end")
    kit.store.unregister(["p7"])


def test_it_only_reads(real_kit: StoreKit) -> None:
    """Asking changes nothing."""
    kit = real_kit
    ids = [kit.create(), kit.running()[0], kit.waiting()]
    before = kit.state()
    for task_id in ids:
        why(kit, task_id)
    assert kit.state() == before
