"""Tasks that lock resources, for tests of the store."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from neuraphage.model.effect import EffectClass, EffectState, Marker, MarkerName, Permission, ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.lock import LockMode, LockNeed
from neuraphage.ports import Changes, Committed, CommitVerdict, FinishTo, Lease, LockRequest, Settled, SuspendTo
from storekit import MODEL_CALL, StoreKit, text_entry

EXCLUSIVE, SHARED = LockMode.EXCLUSIVE, LockMode.SHARED
_calls = count(1)


def effect(call: str, fence: int, state: EffectState = EffectState.STARTED) -> ToolEffect:
    """What the journal has of a call."""
    return ToolEffect(key=call, state=state, fence=fence, tool="edit", effect_class=EffectClass.CHECKABLE)


def announced(
    lease: Lease,
    resources: tuple[str, ...],
    mode: LockMode = EXCLUSIVE,
    call: str = "",
    before: ToolEffect | None = None,
) -> Changes:
    """What a turn commits that begins a call, with what it has noted before."""
    call = call or f"call-{next(_calls)}"
    needs = tuple(LockNeed(resource=name, mode=mode) for name in sorted(resources))
    return Changes(
        entries=(text_entry(f"before {call}"),),
        journal=(effect(call, lease.fence),),
        marker=Marker(name=MarkerName.TOOL_STARTED, tool="edit", tool_use_id=call),
        events=(
            Event(kind=EventKind.TOOL_ATTACHED, data={"tool": "edit", "id": "before"}),
            Event(kind=EventKind.TOOL_STARTED, data={"tool": "edit", "id": call}),
        ),
        locks=LockRequest(call, needs, before, Marker(name=MarkerName.RESPONSE_RECEIVED)),
    )


def allowed(call: str) -> ToolEffect:
    """A call that a person has allowed, before it begins."""
    return effect(call, 1, EffectState.PLANNED).model_copy(update={"permission": Permission.GRANTED})


@dataclass
class Holder:
    """One task under a lease, and what it writes.

    Args:
        kit: the store.
        lease: with the token of its last write.
    """

    kit: StoreKit
    lease: Lease

    @property
    def id(self) -> str:
        return self.lease.task_id

    @property
    def stands(self) -> tuple[str, str]:
        """Status and place."""
        return self.kit.status(self.id).value, self.kit.place(self.id)

    def asks(self, *resources: str, mode: LockMode = EXCLUSIVE, **more: Any) -> Committed:
        """Announce a call that needs these."""
        return self.writes(announced(self.lease, resources, mode, **more))

    def writes(self, changes: Changes) -> Committed:
        answer = self.kit.store.commit(self.lease, changes)
        assert answer.verdict in (CommitVerdict.COMMITTED, CommitVerdict.BLOCKED)
        self.lease = replace(self.lease, token=self.lease.token + 1)
        return answer

    def takes(self, *resources: str, mode: LockMode = EXCLUSIVE) -> Holder:
        """Begin a call that needs these and gets them, and end it."""
        call = f"call-{next(_calls)}"
        assert self.asks(*resources, mode=mode, call=call).verdict is CommitVerdict.COMMITTED
        self.writes(Changes(journal=(effect(call, self.lease.fence, EffectState.COMPLETED),)))
        return self

    def waits(self, *resources: str, mode: LockMode = EXCLUSIVE, **more: Any) -> Holder:
        """Begin a call that has to wait."""
        assert self.asks(*resources, mode=mode, **more).verdict is CommitVerdict.BLOCKED
        assert self.stands == ("Blocked", "waits")
        return self

    def ends(self, to: FinishTo = FinishTo.NEXT, **detail: Any) -> Settled:
        """End the turn."""
        return self.kit.finish(self.lease, to, Changes(add=MODEL_CALL), **detail)

    def suspends(self, to: SuspendTo, changes: Changes | None = None, **more: Any) -> Settled:
        return self.kit.suspend(self.lease, to, changes, **more)

    def again(self) -> Holder:
        """The same task under its next lease."""
        return Holder(self.kit, self.kit.claim(self.id))


def holder(kit: StoreKit) -> Holder:
    """A new task under a lease."""
    return Holder(kit, kit.running()[1])


def lines(kit: StoreKit, resource: str) -> list[tuple[str, str]]:
    """Who holds a resource and who waits for it: state and task, in order."""
    raw = kit.client.hget(kit.keys.locks, resource) or b""
    rows = (line.split(" ") for line in raw.decode().splitlines())
    return [(state, task_id) for state, _, task_id, _ in rows]


def holders(kit: StoreKit, resource: str) -> list[str]:
    return [task_id for state, task_id in lines(kit, resource) if state == "holds"]


def has_waited(kit: StoreKit, task_id: str) -> None:
    """Let the time of a call that waits be over."""
    raw = kit.field(task_id, "locks") or ""
    kit.client.hset(kit.keys.task(task_id), "locks", re.sub(r'"due_ms":\d+', '"due_ms":1', raw))
