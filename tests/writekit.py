"""Every write of the store that changes something, as calls to be made later: for tests of servers that refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

from lockkit import Holder, announced, has_waited, holder
from neuraphage.model.dependency import OnFailure
from neuraphage.model.effect import EffectState, ModelEffect
from neuraphage.model.event import Event
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import Changes, FinishTo, Lease, SignalKind, SuspendTo
from neuraphage.store import places
from neuraphage.store.uses import Asks
from storekit import ASK, TALK, StoreKit, question, text_entry

Write = Callable[[], Any]
_names = count(1)
FULL = Changes(
    entries=(text_entry("one"),),
    journal=(ModelEffect(state=EffectState.COMPLETED),),
    prompts_opened=(question(TALK, deadline_ms=5),),
    events=(Event(kind="Tick"),),
    add={"model_calls": 1},
    outcome=True,
)


def settling(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """commit, suspend, finish and go_on to each target, plain and with each flag."""

    def leases() -> Iterator[tuple[str, Lease]]:
        for flag in (None, SignalKind.PAUSE, SignalKind.CANCEL):
            task_id, lease = kit.running()
            if flag:
                kit.send(task_id, flag)
            yield str(flag), lease

    for name, lease in leases():
        yield f"commit {name}", partial(kit.store.commit, lease, FULL)
    for to in SuspendTo:
        for name, lease in leases():
            yield f"suspend {to} {name}", partial(kit.suspend, lease, to, FULL, due_ms=5)
    for end in FinishTo:
        for name, lease in leases():
            yield f"finish {end} {name}", partial(kit.store.finish, lease, FULL, end, 0, {})
    for end in (FinishTo.NEXT, FinishTo.LIMITED):
        for name, lease in leases():
            further = {"process_id": "p", "claim_id": f"next of {lease.claim_id}"}
            yield f"go_on {end} {name}", partial(kit.store.go_on, lease, FULL, end, 0, {}, **further)


def claiming(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """claim in its three outcomes that write, renew, and the moves of the sweep."""
    for flag in (None, "pause", "cancel"):
        task_id = kit.create()
        if flag:
            kit.client.hset(kit.keys.task(task_id), flag, 1)
        yield f"claim {flag}", partial(kit.try_claim, task_id, seq=1)
    _, lease = kit.running()
    yield "renew", lambda: kit.store.renew([lease])
    waits, held = kit.running()
    kit.suspend(held, SuspendTo.TIMER, due_ms=1)
    yield "fire timers", lambda: places.fire(kit.store.context, waits, "timers")
    blocked = kit.put(Status.BLOCKED)
    yield "fire blocked", lambda: places.fire(kit.store.context, blocked, "blocked")
    queued = kit.create()
    yield "republish", lambda: places.republish(kit.store.context, queued, ahead_ms=10**8)
    ended = kit.put(Status.COMPLETED)
    yield "delete", lambda: places.delete(kit.store.context, ended, force=True)
    spec = TaskSpec(task_id="task-00000000-0000-0000-0000-00000000dead", name="n", prompt="p", model="m")
    yield "create", lambda: kit.store.create(spec, "a new key")


def recovering(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """recover in each of its outcomes."""
    for name in ("recovered", "pause", "cancel", "suspect", "poison"):
        task_id, _ = kit.running()
        if name in ("pause", "cancel"):
            kit.send(task_id, SignalKind(name))
        if name == "poison":
            kit.client.hset(kit.keys.task(task_id), "recoveries", 9)
        if name == "suspect":
            kit.expire_lease(task_id)
        held, evidence = kit.held(task_id), "expired" if name == "suspect" else "gone"
        yield f"recover {name}", partial(kit.store.recover, held, evidence)


def signalling(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """Each signal from each status that accepts it."""
    rows = [
        *((kind, status) for kind in (SignalKind.INPUT, SignalKind.CANCEL) for status in list(Status)[:5]),
        *((SignalKind.PAUSE, status) for status in list(Status)[:4]),
        (SignalKind.ANSWER, Status.WAITING_FOR_USER),
        (SignalKind.RESUME, Status.PAUSED),
        (SignalKind.RETRY, Status.FAILED),
        (SignalKind.RESET, Status.FAILED),
        (SignalKind.RETRY_REPLY, Status.COMPLETED),
    ]
    for kind, status in rows:
        task_id = kit.put(status)
        more = kit.of_last_entry(task_id) if kind is SignalKind.RETRY_REPLY else {}
        yield f"{kind} {status}", partial(kit.send, task_id, kind, prompt_id=ASK, **more)
    talking = kit.waiting(question(TALK))
    again = partial(kit.send, talking, SignalKind.RETRY_REPLY, **kit.of_last_entry(talking))
    yield "retry_reply in a conversation", again
    task_id, _ = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    yield "resume Running", lambda: kit.send(task_id, SignalKind.RESUME)


def releasing(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """What is about dependencies: each end with tasks that wait for it by each rule, and edges themselves."""

    def awaited(task_id: str) -> str:
        for rule in OnFailure:
            kit.after(task_id, on_failure=rule)
        kit.send(kit.after(task_id, on_failure=OnFailure.SKIP), SignalKind.PAUSE)
        return task_id

    for end in (FinishTo.COMPLETED, FinishTo.FAILED):
        lease = kit.claim(awaited(kit.create()))
        yield f"finish {end} awaited", partial(kit.store.finish, lease, FULL, end, 0, {})
    lease = kit.claim(awaited(kit.create()))
    yield "suspend poisoned awaited", partial(kit.suspend, lease, SuspendTo.POISONED, FULL)
    yield "cancel awaited", partial(kit.send, awaited(kit.create()), SignalKind.CANCEL)
    kit.claim(poisoned := awaited(kit.create()))
    kit.client.hset(kit.keys.task(poisoned), "recoveries", 9)
    yield "recover poison awaited", partial(kit.store.recover, kit.held(poisoned), "gone")
    kit.client.hset(kit.keys.task(flagged := awaited(kit.create())), "cancel", 1)
    yield "claim cancel awaited", partial(kit.try_claim, flagged, seq=1)
    first, queued, paused = kit.create(), kit.create(), kit.create()
    yield "depend", partial(kit.depend, queued, first)
    yield "undepend", partial(kit.undepend, kit.after(first), first)
    kit.send(paused, SignalKind.PAUSE)
    kit.depend(paused, first)
    yield "resume to wait", partial(kit.send, paused, SignalKind.RESUME)
    waiting = kit.after(first)
    yield "fire waiting", partial(kit.store.fire, waiting, "blocked")


def locking(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """What is about locks: a call that gets its own, one that waits, and each end of a holder for whom others wait."""

    def awaited(*, settled: bool = True, resource: str = "") -> Holder:
        name = resource or f"file:{next(_names)}"
        one = holder(kit)
        one.takes(name) if settled else one.asks(name)
        holder(kit).waits(name)
        return one

    one, two = holder(kit).takes("file:one"), holder(kit)
    yield "commit that locks", partial(kit.store.commit, one.lease, announced(one.lease, ("file:two",)))
    yield "commit that waits", partial(kit.store.commit, two.lease, announced(two.lease, ("file:one",)))
    for end in FinishTo:
        yield f"finish {end} with locks", partial(kit.store.finish, awaited().lease, FULL, end, 0, {})
    for to in (SuspendTo.WAIT, SuspendTo.POISONED):
        yield f"suspend {to} with locks", partial(kit.suspend, awaited().lease, to, FULL)
    further = {"process_id": "p", "claim_id": "next with locks"}
    yield "go_on with locks", partial(kit.store.go_on, awaited().lease, FULL, FinishTo.NEXT, 0, {}, **further)
    yield "recover with locks", partial(kit.store.recover, kit.held(awaited().id), "gone")
    yield "recover under a call", partial(kit.store.recover, kit.held(awaited(settled=False).id), "gone")
    holder(kit).takes("file:three")
    waiting = holder(kit).waits("file:three")
    has_waited(kit, waiting.id)
    yield "fire late", partial(kit.store.fire, waiting.id, "blocked")
    leaving = holder(kit).waits("file:three")
    yield "unlock", partial(kit.send, awaited(resource="file:four").id, SignalKind.UNLOCK, text="file:four")
    yield "pause one that waits", partial(kit.send, leaving.id, SignalKind.PAUSE)


ALL_WRITES = (settling, claiming, recovering, signalling, releasing, locking)


def extent(name: str) -> Asks:
    """What the script of a write asks for before it writes; `name` as in writekit."""
    if name.startswith("commit that"):
        return Asks.TURN
    if name == f"finish {FinishTo.NEXT} None":
        return Asks.NEXT
    return {"commit": Asks.COMMIT, **dict.fromkeys(("suspend", "finish", "go_on", "claim"), Asks.TURN)}.get(
        name.split(maxsplit=1)[0], Asks.ALL
    )


def pattern(kit: StoreKit, key: str) -> str:
    """What an ACL calls a key of the scripts, by its name in Lua."""
    if not key:
        return ""
    if key.startswith("STATUS_KEY."):
        return kit.keys.status(Status(key.removeprefix("STATUS_KEY.")))
    found = getattr(kit.keys, key.lower())
    return found if isinstance(found, str) else found("?" * 41)
