"""What the scripts tell: the events of a task's history, and the decisions that are kept with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from neuraphage.model.limits import LimitChange
from neuraphage.model.task import Status
from neuraphage.ports import Changes, FinishTo, RecoverVerdict, SignalKind, SignalVerdict, SuspendTo
from neuraphage.store import queries
from storekit import ASK, MODEL_CALL, TALK, StoreKit, item, question, text_entry

ENDS = {
    FinishTo.NEXT: [],
    FinishTo.WAIT: ["UserInputNeeded"],
    FinishTo.COMPLETED: ["TaskCompleted"],
    FinishTo.FAILED: ["TaskFailed"],
    SuspendTo.WAIT: ["UserInputNeeded"],
    SuspendTo.TIMER: [],
    SuspendTo.SHUTDOWN: [],
    SuspendTo.PAUSE: [],
    SuspendTo.BLOCKED: ["TaskBlocked"],
    SuspendTo.POISONED: ["TaskFailed"],
}
"""What the end of a stretch of work tells, when nobody has sent a signal."""


def told(kit: StoreKit, task_id: str, since: int = 0) -> list[tuple[str, dict[str, Any]]]:
    """Kind and data of a task's events, without the first so many."""
    return [(event.kind, dict(event.data)) for event in queries.events(kit.store.context, task_id)[since:]]


def kinds(kit: StoreKit, task_id: str, since: int = 0) -> list[str]:
    return [kind for kind, _ in told(kit, task_id, since)]


@pytest.mark.parametrize("to", ENDS, ids=lambda to: f"{type(to).__name__}-{to.value}")
def test_each_end_of_a_stretch_of_work(kit: StoreKit, to: FinishTo | SuspendTo) -> None:
    """A wait, a block and an end are told with their detail; what goes on by itself tells nothing."""
    task_id, lease = kit.running()
    before = len(kinds(kit, task_id))
    opened = (question(TALK),) if to.value == "wait" else ()
    detail = {"error": "e", "recoverable": True, "resource": "file:a", "summary": "s"}
    if isinstance(to, FinishTo):
        kit.finish(lease, to, Changes(prompts_opened=opened, add=MODEL_CALL), **detail)
    else:
        kit.suspend(lease, to, Changes(prompts_opened=opened), due_ms=kit.store.now_ms() + 60_000, detail=detail)
    assert told(kit, task_id, before) == [(kind, detail) for kind in ENDS[to]]


def test_what_people_send(kit: StoreKit) -> None:
    """Input and answers are told apart, with who sent them and to which prompt."""
    task_id = kit.waiting()
    before = len(kinds(kit, task_id))
    kit.plant(task_id)
    kit.plant(task_id, "answer", ASK)
    kit.finish(kit.claim(task_id), FinishTo.COMPLETED)
    done = kit.put(Status.COMPLETED)
    ended = len(kinds(kit, done))
    kit.send(done, SignalKind.INPUT, text="more")
    (first, second, *_), (third,) = told(kit, task_id, before), told(kit, done, ended)
    assert (first[0], first[1]["by"]) == (third[0], third[1]["by"]) == ("InputReceived", "user")
    assert second[0] == "AnswerReceived"
    assert (second[1]["prompt"], second[1]["by"]) == (ASK, "user")


def test_who_answered_what(kit: StoreKit) -> None:
    """Of the first answer, for those who come after it: they change nothing, nor does a repeat.

    Its first word alone, and of others none: only the turn that takes it knows all secrets.
    """
    task_id = kit.waiting()
    kit.send(task_id, SignalKind.ANSWER, "k", text="no: " + "x" * 1_000, prompt_id=ASK, who="anna")
    kit.send(task_id, SignalKind.ANSWER, "k", text="yes", prompt_id=ASK, who="anna")
    late = kit.send(task_id, SignalKind.ANSWER, "other", text="yes", prompt_id=ASK, who="ben")
    assert late.verdict is SignalVerdict.PROMPT_NOT_OPEN
    found = [data for kind, data in told(kit, task_id) if kind == "AnswerReceived"]
    assert found == [{"prompt": ASK, "by": "user", "who": "anna", "answer": "no"}]
    assert item(kit.inbox(task_id)[0]).who == "anna"
    asked = kit.waiting()
    kit.send(asked, SignalKind.ANSWER, text="some words", prompt_id=ASK)
    assert told(kit, asked)[-1] == ("AnswerReceived", {"prompt": ASK, "by": "user"})


@pytest.mark.parametrize("kind", [SignalKind.LIMIT, SignalKind.RETRY, SignalKind.RESET])
def test_changed_limits(kit: StoreKit, kind: SignalKind) -> None:
    """Whichever signal raises a limit: which ones, and who did it. One that raises none tells of none."""
    task_id = kit.put(Status.FAILED)
    before = len(kinds(kit, task_id))
    kit.send(task_id, kind, limits=LimitChange(max_turns=7, max_cost_microusd=9))
    changed = ("LimitsChanged", {"max_turns": 7, "max_cost_microusd": 9, "by": "user"})
    revived = {SignalKind.RETRY: [("TaskRetried", {})], SignalKind.RESET: [("TaskReset", {})]}
    assert told(kit, task_id, before) == [changed, *revived.get(kind, [])]
    if kind is not SignalKind.LIMIT:
        kit.finish(kit.claim(task_id), FinishTo.FAILED, error="no", recoverable=True)
        kit.send(task_id, kind)
        assert kinds(kit, task_id).count("LimitsChanged") == 1


def test_an_answer_that_nobody_gave(kit: StoreKit) -> None:
    """The default answer at a deadline is told as its own, and kept as a decision with what it was made from."""
    task_id = kit.waiting(question(deadline_ms=5))
    sent = kit.send(task_id, SignalKind.ANSWER, text="no", prompt_id=ASK, by="timeout")
    assert (sent.verdict, sent.place) == (SignalVerdict.ACCEPTED, "outbox")
    assert told(kit, task_id)[-1] == ("AnswerReceived", {"prompt": ASK, "by": "timeout", "answer": "no"})
    (kept,) = [row["reading"] for row in queries.decisions(kit.store.context, task_id)]
    assert (kept["verdict"], kept["evidence"], kept["iteration"], kept["recoveries"]) == ("deadline", "due", 0, 0)
    assert 0 <= kept["saved_age_ms"] < 60_000


def test_a_cancel_and_a_pause_that_is_taken_back(kit: StoreKit) -> None:
    """Who waits in no process is ended at once, with the reason; a pause is told when it begins and when it is over."""
    task_id = kit.create()
    before = len(kinds(kit, task_id))
    kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.RESUME)
    kit.send(task_id, SignalKind.CANCEL, text="enough")
    assert kinds(kit, task_id, before) == ["TaskPaused", "TaskUnpaused", "TaskCancelled"]
    assert told(kit, task_id)[-1][1] == {"reason": "enough"}


@pytest.mark.parametrize("verdict", [v for v in RecoverVerdict if v.value not in ("STALE", "SUSPECT")])
def test_recoveries(kit: StoreKit, verdict: RecoverVerdict) -> None:
    """A task that goes on, or could, tells TaskRecovered; one that ends tells its end alone."""
    task_id, _ = kit.running()
    if verdict in (RecoverVerdict.PAUSED, RecoverVerdict.CANCELLED):
        kit.send(task_id, SignalKind.PAUSE if verdict is RecoverVerdict.PAUSED else SignalKind.CANCEL)
    if verdict is RecoverVerdict.FAILED:
        kit.client.hset(kit.keys.task(task_id), "recoveries", 9)
    before = len(kinds(kit, task_id))
    assert kit.recover(task_id).verdict is verdict
    expected = {
        RecoverVerdict.RECOVERED: ["TaskRecovered"],
        RecoverVerdict.PAUSED: ["TaskPaused", "TaskRecovered"],
        RecoverVerdict.FAILED: ["TaskFailed"],
        RecoverVerdict.CANCELLED: ["TaskCancelled"],
    }
    assert kinds(kit, task_id, before) == expected[verdict]


def test_when_and_why_a_stretch_of_work_began(kit: StoreKit) -> None:
    """Told by its first claim with turn and fence; its later turns tell nothing and leave it as it stands."""
    task_id, lease = kit.running()
    begun = ("TaskStarted", {"reason": "user_request", "iteration": 0, "fence": 1})
    assert told(kit, task_id)[1:] == [begun]
    assert kit.number(task_id, "started_at") > 0
    kit.client.hset(kit.keys.task(task_id), "started_at", 5)
    kit.finish(lease, FinishTo.NEXT)
    kit.suspend(kit.claim(task_id), SuspendTo.SHUTDOWN)
    kit.recover(kit.claim(task_id).task_id)
    assert kit.number(task_id, "started_at") == 5, "later turns of one stretch"
    kit.claim(task_id)
    assert told(kit, task_id)[-1] == ("TaskResumed", {"reason": "recovered", "iteration": 1, "fence": 5})
    assert kit.number(task_id, "started_at") > 5


def test_a_publication_pushes_no_other_decision_out(kit: StoreKit) -> None:
    """Only its own message's last one makes room, whatever else was decided in between, readable or not."""
    task_id = kit.create()
    others = ['{"at_ms":1,"reading":"{}"}', "not JSON", "[]", '{"at_ms":1}']
    for number in range(len(others) + 1):
        kit.client.rpush(kit.keys.why(task_id), *others[number : number + 1] or ["the last"])
        for _ in range(2):
            kit.due("outbox", task_id)
            kit.store.republish(task_id)
    kept = [raw.decode() for raw in kit.client.lrange(kit.keys.why(task_id), 0, -1)]
    assert [text for text in kept if text in others] == others
    assert len(kept) == 2 * (len(others) + 1)


def test_a_task_on_a_timer_tells_where_it_is(kit: StoreKit) -> None:
    """So that who sends a signal knows that nobody has to be woken."""
    task_id, lease = kit.running()
    kit.suspend(lease, SuspendTo.TIMER, Changes(entries=(text_entry("one"),)), due_ms=kit.store.now_ms() + 60_000)
    assert kit.send(task_id, SignalKind.INPUT, text="words").place == "timers"


def test_a_repeated_commit_tells_what_people_asked_for(kit: StoreKit) -> None:
    """Its first answer was lost, and with it the flags; a holder that was told nothing would go on."""
    task_id, lease = kit.running()
    one = Changes(entries=(text_entry("one"),))
    kit.store.commit(lease, one)
    seen = [kit.store.commit(lease, one)]
    for flag in (SignalKind.PAUSE, SignalKind.CANCEL):
        kit.send(task_id, flag)
        seen.append(kit.store.commit(lease, one))
    assert [(answer.pause, answer.cancel) for answer in seen] == [(False, False), (True, False), (True, True)]
    assert kit.store.commit(replace(lease, token=1), one).cancel
