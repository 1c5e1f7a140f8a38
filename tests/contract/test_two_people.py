"""Several people answer one prompt: one of them wins, whoever it is, and the others are told so."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from neuraphage.model.prompt import InboxItem
from neuraphage.ports import Signal, SignalKind, Signalled, SignalVerdict
from storekit import ASK, StoreKit, item

TIMES = 100


def test_one_of_two_who_answer_at_once_wins(kit: StoreKit) -> None:
    """A hundred times, by threads that wait for each other: one answer is taken and told with its name."""
    together = Barrier(2)

    def answer(task_id: str, who: str) -> tuple[str, Signalled]:
        together.wait()
        return who, kit.store.signal(task_id, Signal(SignalKind.ANSWER, f"key-{who}", f"yes {who}", ASK, who=who))

    with ThreadPoolExecutor(2) as people:
        for _ in range(TIMES):
            task_id = kit.waiting()
            said = [one.result() for one in [people.submit(answer, task_id, who) for who in ("ada", "bo")]]
            taken = [who for who, answered in said if answered.verdict is SignalVerdict.ACCEPTED]
            late = [answered.verdict for _, answered in said if answered.verdict is not SignalVerdict.ACCEPTED]
            kept: list[InboxItem] = [item(raw) for raw in kit.inbox(task_id)]
            assert len(taken) == 1
            assert late == [SignalVerdict.PROMPT_NOT_OPEN]
            assert [(one.who, one.text) for one in kept] == [(taken[0], f"yes {taken[0]}")]
