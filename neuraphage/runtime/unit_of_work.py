"""The turn's working copy, and its writes.

Changes are noted here first and seen by the next decision at once; they reach the store together with the
next intent (before an effect starts), or with suspend or finish. So an outcome and the next intent are one
commit, and no effect ever starts before the commit that announces it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from neuraphage.decide.assembly import Assembly
from neuraphage.decide.steps_taken import StepHistory
from neuraphage.errors import DamagedKey, LeaseLost, StoreUnavailable, WriteLost
from neuraphage.model.effect import (
    EffectState,
    ModelEffect,
    ToolEffect,
    model_effect,
    summary_effect,
    tool_effect,
)
from neuraphage.model.prompt import Prompt
from neuraphage.ports import (
    Claimed,
    Committed,
    CommitVerdict,
    FinishTo,
    GoneOn,
    Settled,
    SuspendTo,
)
from neuraphage.runtime.call_locks import Blocked
from neuraphage.runtime.held_lease import HeldLease
from neuraphage.runtime.no_money import NoMoney, NoTurns
from neuraphage.runtime.no_room import NoRoom
from neuraphage.runtime.noted import Noted
from neuraphage.runtime.patience import persistently
from neuraphage.runtime.pending import Pending
from neuraphage.runtime.services import Services
from neuraphage.runtime.turn_chain import Claim, TurnChain

_NOT_WRITTEN = {CommitVerdict.NO_MONEY, CommitVerdict.NO_TURNS, CommitVerdict.NO_ROOM}
T = TypeVar("T", Committed, Settled, GoneOn)
A = TypeVar("A")


class UnitOfWork(Noted):
    """Working copy of one claimed task.

    Args:
        services: the ports.
        held: the lease.
        claimed: what claim read; must be GRANTED.
        draining: whether the process is shutting down.
        chain: claims the next turn together with the end of this one; None when none is to follow.
    """

    def __init__(
        self,
        services: Services,
        held: HeldLease,
        claimed: Claimed,
        draining: Callable[[], bool],
        chain: TurnChain | None = None,
    ) -> None:
        super().__init__(claimed)
        self.held = held
        # taken out while it is used: this process may be given the task again while a former turn of it still hangs
        self.assembly: Assembly = claimed.memo.pop("assembly", None) or Assembly()
        self.history: StepHistory = claimed.memo.pop("history", None) or StepHistory()
        self.history.see(self.entries)
        self._memo = claimed.memo
        self._announced = self._taken_announcement()
        """A call of the model that the claim announced and that nobody has sent yet; for decisions there is none."""
        self.cooling = claimed.cooling
        """Gates of models that take no calls now."""
        self.kept = claimed.kept
        """Limits of models that workers keep as they were learned, by gate."""
        self.children_made = len(self.record.children)
        """Tasks that this one has made, as the store last told."""
        self.error = ""
        """Why the turn has failed its task, if it has."""
        self._services = services
        self._draining = draining
        self._chain = chain
        # from now, not from the send time: the claim may have been sent several times, and a server time that runs
        # ahead would let this process act before a former owner's deadline
        self._clock_offset_ms = claimed.now_ms - int(services.clock.boottime_s() * 1000)

    @property
    def model_effect(self) -> ModelEffect | None:
        """The turn's call of the model, once it was announced."""
        return model_effect(self.journal)

    @property
    def summary_effect(self) -> ModelEffect | None:
        """The call for a summary that this turn has begun with, once it was announced."""
        return summary_effect(self.journal)

    def tool_effect(self, tool_use_id: str) -> ToolEffect | None:
        """What is known of a call of a tool."""
        return tool_effect(self.journal, tool_use_id)

    def now_ms(self) -> int:
        """Server time, from the claim and this machine's clock; never ahead of it."""
        return self._clock_offset_ms + int(self._services.clock.boottime_s() * 1000)

    def _taken_announcement(self) -> ModelEffect | None:
        entry = model_effect(self.journal)
        if entry is None or entry.state is not EffectState.STARTED or entry.fence != self.held.lease.fence:
            return None
        del self.journal[entry.key]
        return entry

    def is_announced(self, entry: ModelEffect) -> bool:
        """Whether the claim has announced just this call, and nothing else is to be stored before it is sent."""
        return entry == self._announced and self._pending.is_empty()

    def put_back_announced(self) -> None:
        """Note that a call that the claim announced is not sent yet, as something else comes first."""
        if self._announced is not None:
            self.note(journal=[self._announced.model_copy(update={"state": EffectState.PLANNED, "attempt": 0})])

    # --- writing ---

    def begin_effect(self) -> None:
        """Commit what is noted, so that an effect may start now.

        Raises:
            LeaseLost: another lease has taken over; nothing may start.
            CancelRequested: a person cancelled, or the task is over already.
            NoMoney, NoTurns: a pool has no room for the call that is announced, or its tree has taken all its turns;
                nothing was written, all stays noted.
            Blocked: another task has what the call needs that is announced; the rest was written, the lease is over.
            StoreUnavailable: the store stayed away; nothing may start without its marker.
        """
        self.held.settling = self._pending.locks is not None  # it may be the last write of this turn
        answer = self._write("commit", partial(self._services.store.commit, self.held.lease, self._pending.changes()))
        if answer.settled is not None:
            self._settling()
            raise Blocked(answer.settled)
        self.held.settling = False
        if answer.shortage is not None:
            raise NoMoney(answer.shortage)
        if answer.used_up is not None:
            raise NoTurns(answer.used_up)
        self._pending, self._announced = Pending(), None
        over = answer.verdict is CommitVerdict.CANCELLED  # another process had recovered and ended it
        self.held.renewed(answer.sent_at_boottime_s)
        self.held.flag(cancel=answer.cancel or over, pause=answer.pause)
        self._await_start()

    def begin_announced(self, entry: ModelEffect) -> None:
        """The call that the claim announced starts now; raises what begin_effect does."""
        self._await_start()
        self._announced = None
        self.journal[entry.key] = entry

    def drop_announced(self) -> None:
        """What the claim announced is not sent, since its reply is there without it."""
        self._announced = None

    def give_announced_up(self, error: str) -> None:
        """Note a call that the claim announced, if any, as failed: nobody takes it for billed, a retry asks anew."""
        if self._announced is not None:
            self.note(journal=[self._announced.model_copy(update={"state": EffectState.FAILED, "error": error})])

    def _await_start(self) -> None:
        """The confirmation may have come so late that the lease is over by this machine's own clock."""
        self.held.check()
        while not self.held.may_start():
            self._renew()
            self.held.check()

    def suspend(
        self, to: SuspendTo, *, due_ms: int = 0, reason: str = "", detail: Mapping[str, Any] | None = None
    ) -> Settled:
        """Write what is noted and drop the lease in mid-turn.

        Raises:
            LeaseLost: another lease has taken over.
            NoRoom: for the children that are made; nothing was written, all stays noted.
            StoreUnavailable: the store stayed away; the lease runs out and the sweep takes over.
        """
        pending, unsent = self._pending.changes(), self._announced is not None
        self._settling()
        settled = self._write(
            "suspend",
            lambda: self._services.store.suspend(
                self.held.lease, pending, to, due_ms=due_ms, reason=reason, detail=detail, unsent=unsent
            ),
        )
        if settled.verdict is CommitVerdict.NO_ROOM:
            self.held.settling = False
            raise NoRoom(settled.children)
        return self._told(settled, pending.prompts_opened)

    def finish(self, to: FinishTo, detail: Mapping[str, Any] | None = None) -> Settled:
        """Write what is noted and end the turn; with the same write the next one may be claimed.

        Raises:
            LeaseLost: another lease has taken over.
            StoreUnavailable: the store stayed away.
        """
        self.error = str((detail or {}).get("error", ""))
        # asked before the lease counts as settling: it may take as long as the broker does
        following = (
            self._chain.begin_next(self.record.seq + 1) if to is FinishTo.NEXT and self._chain is not None else None
        )
        self._settling()
        lease, iteration, pending = self.held.lease, self.record.counters.iteration, self._pending.changes()
        ending = (lease, pending, to, iteration, detail or {})
        if following is None:
            settled = self._write("finish", partial(self._services.store.finish, *ending))
            return self._told(settled, pending.prompts_opened)
        return self._go_on(following, partial(self._services.store.go_on, *ending))

    def _told(self, settled: Settled, opened: Sequence[Prompt]) -> Settled:
        """What prompts are stored as open by now, people outside may be told of."""
        if opened and settled.verdict is CommitVerdict.COMMITTED:
            self._services.notices.opened(self.record, opened)
        return settled

    def _settling(self) -> None:
        """The last write of this turn is on its way."""
        self.held.settling = True
        self._memo |= {"assembly": self.assembly, "history": self.history}

    def _go_on(self, following: Claim, write: Callable[..., GoneOn]) -> Settled:
        gone_on = self._write(
            "go_on",
            partial(
                write, process_id=following.process_id, claim_id=following.claim_id, request_id=following.request_id
            ),
        )
        following.answer = gone_on.claimed or following.answer
        return gone_on.settled

    def _renew(self) -> None:
        """Ask whether the lease still stands, and for how long."""
        store, held = self._services.store, self.held
        sent_at_s, (answer,) = persistently(lambda: store.renew([held.lease]), lambda: held.lost, self._draining)
        if answer.held:
            held.renewed(sent_at_s)
        held.flag(cancel=answer.cancel, pause=answer.pause, lost=not answer.held)

    def asked(self, ask: Callable[[], A]) -> A:
        """What the store answers to a question that is safe to repeat; raises StoreUnavailable when it stays away."""
        return persistently(ask, lambda: self.held.lost, self._draining)

    def _write(self, what: str, write: Callable[[], T]) -> T:
        waits_for = (StoreUnavailable, DamagedKey)  # a paid outcome is held until the key is repaired
        answer = persistently(write, lambda: self.held.lost, self._draining, waits_for)
        if answer.verdict in (CommitVerdict.STALE, CommitVerdict.LOST):
            self.held.flag(lost=True)
            lost = WriteLost if answer.verdict is CommitVerdict.LOST else LeaseLost
            raise lost(f"{self.held.lease.task_id}: {what} answered {answer.verdict.value}")
        if answer.verdict not in _NOT_WRITTEN:
            self.held.advance_token()
            when_written, self._when_written = self._when_written, []
            for told in when_written:
                told()
        return answer
