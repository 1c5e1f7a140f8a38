"""From a broker message to a finished turn: claim, hold, advance, publish the next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from neuraphage.errors import LeaseLost, SchemaTooNew, StoreError, WriteLost
from neuraphage.logs import add_to_log_context, log_context
from neuraphage.model.effect import MarkerName
from neuraphage.model.place import Place
from neuraphage.ports import Changes, Claimed, ClaimUnreadableError, NextTurn, Settled, SuspendTo
from neuraphage.runtime.lease_keeper import LeaseKeeper
from neuraphage.runtime.outcome import Outcome, not_done, refused, settled_outcome
from neuraphage.runtime.patience import persistently
from neuraphage.runtime.services import Services
from neuraphage.runtime.turn import Turn
from neuraphage.runtime.turn_chain import Claim, TurnChain
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)

CLOSING_LIMIT_S = 1.0
"""How long a leaving process holds a message back until it takes in no more; then it is sent all the same."""
_CLOSING_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of one claim.

    Args:
        outcome: in words.
        settled: the answer to the last write; None where no turn was begun.
        marker: the last one that was reached.
        is_done: whether the message is dealt with although nothing was settled.
    """

    outcome: str
    settled: Settled | None = None
    marker: MarkerName | None = None
    is_done: bool = False


def in_outbox(settled: Settled) -> bool:
    """Whether the task waits for a message."""
    return settled.place == Place.OUTBOX


class TurnRunner:
    """Runs turns in this process.

    Args:
        services: the ports.
        keeper: keeps the leases.
        process_id: random id of this process.
        closed: whether a draining process takes in no more messages.
    """

    def __init__(
        self, services: Services, keeper: LeaseKeeper, process_id: str, closed: Callable[[], bool] = lambda: True
    ) -> None:
        self._closed = closed
        self._services = services
        self._keeper = keeper
        self._process_id = process_id

    def run(self, task_id: str, seq: int, iteration: int = 0) -> str:
        """Handle one message. Never raises for what another process or a later sweep puts right.

        Args:
            task_id: the task.
            seq: of the step the message announces.
            iteration: of the same, for people who look at the broker.

        Returns:
            A short outcome, for logs and Flower.
        """
        if self._keeper.draining():
            self._publish(task_id, iteration, seq, "a shutdown")
            return Outcome.DRAINING.value
        with log_context(task=task_id, turn=iteration + 1):
            try:
                return self._turns(task_id, seq)
            except WriteLost as lost:
                log.warning("write lost: %s", lost)
                return Outcome.TAIL_LOST.value
            except LeaseLost as lost:
                log.warning("lease lost: %s", lost)
                return Outcome.LOST.value
            except StoreError as error:
                log.warning("turn given up: %s", error)
                return not_done(error)

    def _turns(self, task_id: str, seq: int) -> str:
        """The announced turn, and with `turns_per_message` auto those that follow it."""
        with TurnChain(self._services, self._keeper, self._process_id, task_id) as chain:
            ended = self._advanced(task_id, chain, self._claimed(task_id, seq, chain.begin(seq)))
            while (claim := chain.next()) is not None:
                further = self._advanced(task_id, chain, claim)
                if further.settled is None and not further.is_done:
                    return ended.outcome  # another worker has it
                ended = further
        self._announce(task_id, ended)
        return ended.outcome

    def _claimed(self, task_id: str, seq: int, claim: Claim) -> Claim:
        """Ask for the announced turn."""
        store = self._services.store

        def claim_turn() -> Claimed:
            return store.claim(task_id, seq, claim.process_id, claim.claim_id, claim.request_id)

        try:
            claim.answer = persistently(claim_turn, lambda: False, self._keeper.draining)
        except ClaimUnreadableError as unreadable:
            claim.answer = unreadable
        return claim

    def _advanced(self, task_id: str, chain: TurnChain, claim: Claim) -> Ended:
        """The turn under a claim, if it was granted."""
        claimed, draining = claim.answer, self._keeper.draining
        if isinstance(claimed, ClaimUnreadableError):
            return self._without_record(task_id, claimed)
        if claimed.lease is None:
            self._publish_woken(claimed.woken)
            return Ended(refused(claimed.verdict).value)
        with self._keeper.hold(claimed.lease, claim.sent_s) as held:
            work = UnitOfWork(self._services, held, claimed, draining, chain)
            iteration = work.record.counters.iteration
            add_to_log_context(turn=iteration + 1, fence=claimed.lease.fence)
            settled = Turn(self._services, work, draining).advance()
        name = work.record.spec.name
        outcome = settled_outcome(settled, work.marker.name, iteration, name=name, error=work.error)
        return Ended(outcome, settled, work.marker.name)

    def _without_record(self, task_id: str, unreadable: ClaimUnreadableError) -> Ended:
        """End the task, which nobody can go on with; one that a newer release wrote is given back whole."""
        add_to_log_context(fence=unreadable.lease.fence)
        if isinstance(unreadable.__cause__, SchemaTooNew):
            return Ended(self._leave_to_newer(task_id, unreadable), is_done=True)
        detail = {"error": f"The stored task cannot be read: {unreadable}", "recoverable": False}
        suspend = partial(self._services.store.suspend, unreadable.lease, Changes(), unsent=True)
        settled = suspend(SuspendTo.POISONED, detail=detail)
        log.error("stored task cannot be read", extra={"task": task_id}, exc_info=unreadable)
        return Ended(settled_outcome(settled, None, 0, error=str(detail["error"])), settled)

    def _leave_to_newer(self, task_id: str, unreadable: ClaimUnreadableError) -> str:
        """A newer release wrote it. The sweep publishes it again, for a newer worker to claim."""
        log.error("left to a newer worker: %s", unreadable, extra={"task": task_id})
        self._services.store.suspend(unreadable.lease, Changes(), SuspendTo.SHUTDOWN, unsent=True)
        return Outcome.TOO_NEW.value

    def _announce(self, task_id: str, ended: Ended) -> None:
        settled = ended.settled
        if settled is not None and in_outbox(settled):
            # a refused publish is no error: the sweep publishes what nobody claimed
            self._publish(task_id, settled.iteration, settled.seq, ended.marker.value if ended.marker else "")
        self._publish_woken(settled.woken if settled is not None else ())

    def _publish_woken(self, turns: Iterable[NextTurn]) -> None:
        """Send the messages of tasks that a write of another one has put to work."""
        for turn in turns:
            self._publish(turn.task_id, turn.iteration, turn.seq, "the end of what it waited for")

    def _publish(self, task_id: str, iteration: int, seq: int, after: str) -> None:
        """Send a message; a draining process first waits until it cannot take it in itself."""
        waiting = threading.Event()
        polls = int(CLOSING_LIMIT_S / _CLOSING_POLL_S) if self._keeper.draining() else 0
        for _ in range(polls):
            if self._closed():
                break
            waiting.wait(_CLOSING_POLL_S)
        self._services.dispatcher.publish_turn(task_id, iteration, seq, after)
