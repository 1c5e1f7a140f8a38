"""The lifecycle table against what the scripts do: every script in every status, and no move without a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import fakeredis
import pytest

from neuraphage.decide.lifecycle import MOVES, is_legal
from neuraphage.errors import StoreError
from neuraphage.model.limits import LimitChange
from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.repairing import RepairMode
from neuraphage.model.task import TERMINAL, Status
from neuraphage.ports import Changes, FinishTo, Lease, SignalKind, SuspendTo
from neuraphage.store import lua_constants, scripts
from neuraphage.store.repair import examine
from storekit import MODEL_CALL, TALK, StoreKit, new_kit, question

Act = Callable[[StoreKit, str], object]
Move = tuple[Status, Status]


def last_lease(kit: StoreKit, task_id: str) -> Lease:
    """The last lease there was, whether it still stands or not."""
    return Lease(task_id, kit.number(task_id, "fence"), kit.field(task_id, "claim") or "", kit.number(task_id, "token"))


def suspending(to: SuspendTo) -> Act:
    opened = Changes(prompts_opened=(question("asked-2"),)) if to is SuspendTo.WAIT else Changes()
    detail = {"resource": "file:a", "error": "broken", "recoverable": False}
    return lambda kit, task_id: kit.store.suspend(last_lease(kit, task_id), opened, to, due_ms=1, detail=detail)


def finishing(to: FinishTo) -> Act:
    prompts = (question(TALK),) if to is FinishTo.WAIT else ()
    changes = Changes(add=MODEL_CALL, prompts_opened=prompts)
    detail = {"error": "No.", "recoverable": True, "summary": "Done."}

    def act(kit: StoreKit, task_id: str) -> object:
        return kit.store.finish(last_lease(kit, task_id), changes, to, kit.number(task_id, "iteration"), detail)

    return act


def signalling(kind: SignalKind) -> Act:
    def act(kit: StoreKit, task_id: str) -> object:
        prompt = next((p.prompt_id for p in kit.store.get(task_id).prompts), "none")
        more: dict[str, Any] = {
            SignalKind.LIMIT: {"limits": LimitChange(max_turns=9)},
            SignalKind.MODEL: {"choice": ModelChoice(model="m")},
        }.get(kind, {}) | kit.edge(kind)
        return kit.send(task_id, kind, text="words", prompt_id=prompt if kind is SignalKind.ANSWER else None, **more)

    return act


def recovering(policy: str, max_recoveries: int = 3) -> Act:
    def act(kit: StoreKit, task_id: str) -> object:
        other = kit.under(recovery_policy=policy, max_recoveries=max_recoveries)
        return [other.store.recover(held, "gone") for held in kit.store.held_tasks(until_ms=None, limit=10)]

    return act


def commit(kit: StoreKit, task_id: str) -> object:
    return kit.store.commit(last_lease(kit, task_id), Changes(add=MODEL_CALL))


def fire_timer(kit: StoreKit, task_id: str) -> object:
    return kit.store.fire(task_id, "timers")


def wake(kit: StoreKit, task_id: str) -> object:
    return kit.store.fire(task_id, "blocked")


def repair_unusable(kit: StoreKit, task_id: str) -> object:
    """Its conversation is gone, which no record can put right."""
    kit.client.delete(kit.keys.messages(task_id))
    return examine(kit.store.context, [task_id], RepairMode.REPAIR)


ACTS: dict[str, Act] = {
    "claim": lambda kit, task_id: kit.try_claim(task_id, process="p2"),
    "commit": commit,
    "fire timer": fire_timer,
    "wake": wake,
    "republish": lambda kit, task_id: kit.store.republish(task_id),
    "delete": lambda kit, task_id: kit.store.delete(task_id),
    "renew": lambda kit, task_id: kit.store.renew([last_lease(kit, task_id)]),
    "recover auto": recovering("auto"),
    "recover confirm": recovering("confirm"),
    "repair": repair_unusable,
    "recover poison": recovering("auto", 1),
    **{f"suspend {to.value}": suspending(to) for to in SuspendTo},
    **{f"finish {to.value}": finishing(to) for to in FinishTo},
    **{f"signal {kind.value}": signalling(kind) for kind in SignalKind},
}
RESOLVING = ("claim", "suspend", "finish", "recover", "signal")
"""Scripts that look at flags and inbox; the others are tried without."""
BEFORE: dict[str, Act] = {
    "": lambda kit, task_id: None,
    "pause asked": signalling(SignalKind.PAUSE),
    "cancel asked": signalling(SignalKind.CANCEL),
    "words sent": signalling(SignalKind.INPUT),
    "told to wait for a task": signalling(SignalKind.DEPEND),
}


def paused_with_a_prompt(kit: StoreKit) -> str:
    task_id = kit.waiting()
    kit.send(task_id, SignalKind.PAUSE)
    return task_id


def moves() -> Iterator[tuple[str, Move]]:
    """Every move that any script makes, with the script's name."""
    client = fakeredis.FakeRedis(server=fakeredis.FakeServer())
    for status, (flag, before), (name, act) in product(Status, BEFORE.items(), ACTS.items()):
        if flag and (status in TERMINAL or not name.startswith(RESOLVING)):
            continue
        client.flushall()
        kit = new_kit(client)
        task_id = kit.put(status)
        seen = [status]
        for label, step in ((flag, before), (name, act)):
            step(kit, task_id)
            seen.append(kit.status(task_id))
            if seen[-1] is not seen[-2]:
                yield label, (seen[-2], seen[-1])
        kit.check()
    kit = new_kit(client)
    task_id = paused_with_a_prompt(kit)
    kit.send(task_id, SignalKind.RESUME)
    yield "signal resume", (Status.PAUSED, kit.status(task_id))


@pytest.fixture(scope="module")
def made() -> dict[Move, set[str]]:
    """All moves, and which scripts made them."""
    found: dict[Move, set[str]] = {}
    for name, move in moves():
        found.setdefault(move, set()).add(name)
    return found


def test_scripts_make_no_move_without_a_row(made: dict[Move, set[str]]) -> None:
    """Whatever is asked in whatever status, a script moves as the table says or not at all."""
    illegal = {f"{a.value} -> {b.value}": names for (a, b), names in made.items() if not is_legal(a, b)}
    assert illegal == {}


def test_every_row_is_made_by_a_script(made: dict[Move, set[str]]) -> None:
    """No row stands for a move that nothing can make."""
    rows = {(before, after) for before, targets in MOVES.items() for after in targets}
    assert rows - made.keys() == set()


@pytest.mark.parametrize(
    ("move", "act"),
    [
        ((Status.QUEUED, Status.PAUSED), "signal pause"),
        ((Status.QUEUED, Status.CANCELLED), "signal cancel"),
        ((Status.QUEUED, Status.RUNNING), "claim"),
        ((Status.RUNNING, Status.COMPLETED), "finish completed"),
        ((Status.FAILED, Status.QUEUED), "signal retry"),
    ],
)
def test_the_scripts_obey_the_table(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, move: Move, act: str
) -> None:
    """Without its row a move is refused, and its status stands."""
    before, after = move
    kit = new_kit()
    task_id = kit.put(before)
    others = {to: why for to, why in MOVES[before].items() if to is not after}
    monkeypatch.setattr(lua_constants, "MOVES", MOVES | {before: others})
    scripts.script.cache_clear()
    request.addfinalizer(scripts.script.cache_clear)
    with pytest.raises(StoreError, match=f"no move from {before.value} to {after.value}"):
        ACTS[act](kit, task_id)
    assert kit.status(task_id) is before
    kit.check()


@pytest.mark.parametrize(
    "act", ["commit", *(f"finish {to.value}" for to in FinishTo), *(f"suspend {to.value}" for to in SuspendTo)]
)
def test_a_lease_of_a_task_that_is_not_running_writes_nothing(act: str) -> None:
    """Only damage makes one; half of a write would be taken for the whole by its repeat."""
    kit = new_kit()
    task_id, _ = kit.running()
    kit.client.hset(kit.keys.task(task_id), "status", Status.QUEUED.value)
    before = kit.state()
    with pytest.raises(StoreError, match="no move from Queued under a lease"):
        ACTS[act](kit, task_id)
    assert kit.state() == before


def test_only_people_lead_out_of_an_ended_task(made: dict[Move, set[str]]) -> None:
    """Retry and reset lead out of Failed, a message and another try out of Completed, nothing out of Cancelled."""
    out = {move: names for move, names in made.items() if move[0] in TERMINAL}
    assert out == {
        (Status.FAILED, Status.QUEUED): {"signal retry", "signal reset"},
        (Status.COMPLETED, Status.QUEUED): {"signal input", "signal retry_reply"},
    }


def test_the_table_has_a_row_for_each_status_and_staying_is_for_the_living() -> None:
    """A task that is over for good does not even stay by a move; every other status may."""
    assert set(MOVES) == set(Status)
    assert {status for status in Status if not is_legal(status, status)} == {Status.CANCELLED}
    assert not is_legal(Status.QUEUED, Status.WAITING_FOR_USER)
