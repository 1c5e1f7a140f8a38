"""Notices of prompts: one worker tells, another one where it died, and nothing is told twice."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.prompt_notice import OPENED, WAITING, events_due, next_look_ms
from neuraphage.errors import StoreUnavailable
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.ports import Changes, NoticeMark, SignalKind, SuspendTo
from neuraphage.runtime.notice_desk import HOLD_MS, KEEP_MS, DueNotice, NoticeDesk
from storekit import ASK, StoreKit, question


class Died(BaseException):
    """The process is killed."""


class Teller:
    """Who is told; `dies` while telling, if it is to."""

    def __init__(self, dies: bool = False) -> None:
        self.told: list[tuple[str, str]] = []
        self.dies = dies

    def __call__(self, notice: dict[str, Any]) -> None:
        if self.dies:
            raise Died
        self.told.append((notice["event"], notice["prompt_id"]))


def desk(kit: StoreKit, teller: Teller, wait_s: float | None = None, **more: Any) -> NoticeDesk:
    """Of one worker process."""
    return NoticeDesk(kit.store, teller, wait_s, **more)


def look(one: NoticeDesk) -> None:
    for due in one.due():
        one.tell(due)


def asking(kit: StoreKit, age_ms: int = 10_000, **fields: Any) -> str:
    """A task whose prompt was opened so long ago."""
    return kit.waiting(question().model_copy(update={"opened_at_ms": kit.store.now_ms() - age_ms, **fields}))


def test_of_two_workers_one_tells(kit: StoreKit) -> None:
    """The one that opened it and those that look, in whatever order."""
    task_id = asking(kit)
    first, second = Teller(), Teller()
    record = kit.store.get(task_id)
    one, two = desk(kit, first), desk(kit, second)
    found = two.due()
    one.tell(DueNotice(record, record.prompts[0], OPENED))
    for due in found:
        two.tell(due)
    look(two)
    look(one)
    assert (first.told, second.told) == ([(OPENED, ASK)], [])


def test_a_worker_that_died_right_behind_the_commit_is_followed(kit: StoreKit) -> None:
    """Nobody has begun: another one tells, once."""
    asking(kit)
    teller = Teller()
    for _ in range(3):
        look(desk(kit, teller))
    assert teller.told == [(OPENED, ASK)]


def test_a_worker_that_died_while_it_told_is_followed(kit: StoreKit) -> None:
    """Once its mark is over, and not before."""
    task_id = asking(kit)
    with pytest.raises(Died):
        look(desk(kit, Teller(dies=True)))
    teller = Teller()
    look(desk(kit, teller))
    assert teller.told == []
    key = kit.keys.notice(task_id, ASK, OPENED)
    assert 0 < kit.client.pttl(key) <= HOLD_MS
    kit.client.delete(key)  # as at its expiry
    look(desk(kit, teller))
    assert teller.told == [(OPENED, ASK)]
    assert HOLD_MS < kit.client.pttl(key) <= KEEP_MS


def test_what_was_told_is_known_as_long_as_it_is_open(kit: StoreKit) -> None:
    """The mark is prolonged by who finds it; it goes by itself behind the prompt."""
    task_id = asking(kit)
    teller = Teller()
    look(desk(kit, teller))
    key = kit.keys.notice(task_id, ASK, OPENED)
    kit.client.pexpire(key, 1_000)
    look(desk(kit, teller))
    assert kit.client.pttl(key) > 1_000
    assert len(teller.told) == 1
    assert kit.leaked_keys() == []


def test_a_prompt_is_left_to_its_own_worker_at_first(kit: StoreKit) -> None:
    """Which tells it at once."""
    asking(kit, age_ms=0)
    assert desk(kit, Teller()).due() == []
    assert len(desk(kit, Teller(), grace_ms=0).due()) == 1


def test_one_that_has_waited_long_is_told_again(kit: StoreKit) -> None:
    """Once, whoever opened it; one that nobody was told of is told once as well."""
    task_id = asking(kit)
    teller = Teller()
    look(desk(kit, teller))
    for _ in range(2):
        look(desk(kit, teller, wait_s=5))
    assert teller.told == [(OPENED, ASK), (WAITING, ASK)]
    kit.send(task_id, SignalKind.CANCEL)
    asking(kit)
    for _ in range(2):
        look(desk(kit, teller, wait_s=5))
    assert teller.told[2:] == [(WAITING, ASK)]


def test_what_was_answered_is_not_told(kit: StoreKit) -> None:
    """Neither of a task that goes on, nor of a prompt that was settled since the look."""
    task_id, lease = kit.running()
    old = {"opened_at_ms": kit.store.now_ms() - 10_000}
    prompts = tuple(question(name).model_copy(update=old) for name in (ASK, "ask-2"))
    kit.suspend(lease, SuspendTo.WAIT, Changes(prompts_opened=prompts))
    teller = Teller()
    one = desk(kit, teller)
    found = one.due()
    kit.plant(task_id, "answer", ASK)
    kit.suspend(kit.claim(task_id), SuspendTo.WAIT, Changes(prompts_closed=(ASK,)))
    for due in found:
        one.tell(due)
    assert teller.told == [(OPENED, "ask-2")]
    kit.send(task_id, SignalKind.CANCEL)
    assert one.due() == []


def test_what_is_settled_is_not_read_again(kit: StoreKit, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look costs one read for all tasks that wait, and no more for those that were seen to."""
    task_id = asking(kit)
    one = desk(kit, Teller())
    look(one)
    one.due()
    reads: list[str] = []
    get = type(kit.store).get
    monkeypatch.setattr(type(kit.store), "get", lambda self, name: reads.append(name) or get(self, name))
    one.due()
    assert reads == []
    other = asking(kit)
    one.due()
    assert reads == [other]
    assert task_id != other


def test_a_record_that_cannot_be_read_holds_up_no_other(kit: StoreKit) -> None:
    """Nor a task that is gone meanwhile."""
    broken, fine = asking(kit), asking(kit)
    kit.client.hset(kit.keys.task(broken), "spec", "no JSON")
    found = desk(kit, Teller()).due()
    assert [due.record.task_id for due in found] == [fine]
    kit.client.delete(kit.keys.task(broken))
    kit.client.zrem(kit.keys.status(kit.store.get(fine).status), broken)
    for place in (kit.keys.waits, kit.keys.ids):
        kit.client.zrem(place, broken)
    kit.client.delete(*(key for key in kit.client.keys(f"{kit.keys.task(broken)}*")))


def test_a_server_that_refuses_the_mark_keeps_it_from_being_told(
    kit: StoreKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told by a later look, once."""
    asking(kit)
    teller = Teller()
    one = desk(kit, teller)

    def refused(*_: Any) -> NoticeMark:
        raise StoreUnavailable("away")

    with monkeypatch.context() as away:
        away.setattr(type(kit.store), "begin_notice", refused)
        with pytest.raises(StoreUnavailable):
            look(one)
    assert teller.told == []
    look(one)
    assert teller.told == [(OPENED, ASK)]


OLD = Prompt(prompt_id="p", kind=PromptKind.QUESTION, text="?", opened_at_ms=1_000)


@pytest.mark.parametrize(
    ("now_ms", "wait_ms", "due", "next_ms"),
    [
        (1_000, None, (), 1_300),
        (1_300, None, (OPENED,), 1_300 + 10**12),
        (1_300, 500, (OPENED,), 1_500),
        (1_500, 500, (WAITING,), 1_500 + 10**12),
        (1_100, 50, (WAITING,), 1_300),
    ],
)
def test_when_what_is_due(now_ms: int, wait_ms: int | None, due: tuple[str, ...], next_ms: int) -> None:
    """The last event alone, since an old one helps nobody."""
    assert events_due(OLD, now_ms, 300, wait_ms) == due
    assert next_look_ms(OLD, now_ms, 300, wait_ms) == next_ms


def test_a_mark_is_begun_once(kit: StoreKit) -> None:
    """Whoever comes later is told how far it is."""
    task_id = asking(kit)
    begin = lambda: kit.store.begin_notice(task_id, ASK, OPENED, HOLD_MS)  # noqa: E731 - asked several times
    assert [begin(), begin()] == [NoticeMark.NONE, NoticeMark.TELLING]
    kit.store.end_notice(task_id, ASK, OPENED, KEEP_MS)
    assert begin() is NoticeMark.TOLD
    assert kit.store.notice_marks(task_id, [(ASK, OPENED), (ASK, WAITING)]) == [NoticeMark.TOLD, NoticeMark.NONE]
    assert kit.store.notice_marks(task_id, []) == []
