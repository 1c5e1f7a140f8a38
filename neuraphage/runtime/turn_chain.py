"""The claims of one message: of the turn that it announces, and of those that follow it in the same message.

A turn that goes on ends with a write that claims the next one. Each claim is known to the keeper from before it is sent
until its turn is over, so its lease is renewed also when the answer cannot be read for long.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from neuraphage.decide.hashing import request_id
from neuraphage.ports import Claimed, ClaimUnreadableError, ClaimVerdict
from neuraphage.runtime.lease_keeper import LeaseKeeper
from neuraphage.runtime.services import Services

MOST_TURNS = 20
LONGEST_S = 30.0
"""Of the turns in one message: other tasks, a drain and a person who looks at Flower are not kept waiting for long."""


NOTHING = Claimed(ClaimVerdict.NOT_RUNNABLE)


@dataclass(slots=True)
class Claim:
    """One claim of this process.

    Args:
        claim_id: random.
        request_id: of the call of the model that the claim announces where the turn goes straight on; empty for none.
        process_id: the claimer.
        sent_s: boot time of the first try: a later one may only get the answer that the first had lost.
        told: keeps it known to the keeper.
        answer: what came of it; NOT_RUNNABLE until it is known, and where there was no next turn to claim.
    """

    claim_id: str
    request_id: str
    process_id: str
    sent_s: float
    told: ExitStack
    answer: Claimed | ClaimUnreadableError = NOTHING


class TurnChain:
    """The claims of one message, one after the other.

    Args:
        services: the ports.
        keeper: keeps the leases.
        process_id: random id of this process.
        task_id: the task.
    """

    def __init__(self, services: Services, keeper: LeaseKeeper, process_id: str, task_id: str) -> None:
        self._services = services
        self._keeper = keeper
        self._process_id = process_id
        self._task_id = task_id
        self._began_s = services.clock.boottime_s()
        self._claims: list[Claim] = []
        self._count = 0

    def begin(self, seq: int) -> Claim:
        """A new claim, known to the keeper from now on.

        Args:
            seq: of the step that is claimed.
        """
        claim_id, told = self._services.new_claim_id(), ExitStack()
        told.enter_context(self._keeper.claiming(self._task_id, claim_id))
        # with limits a call is let in before it is announced, so no claim may announce one
        announces = not self._services.settings.model_limits
        announced = request_id(self._task_id, seq) if announces else ""
        claim = Claim(claim_id, announced, self._process_id, self._services.clock.boottime_s(), told)
        self._claims.append(claim)
        self._count += 1
        return claim

    def begin_next(self, seq: int) -> Claim | None:
        """The claim of the turn after this one, if that is to follow in this message; `seq` as of begin."""
        return self.begin(seq) if self._goes_on() else None

    def next(self) -> Claim | None:
        """The claim that was made with the end of the turn before, which is over; None when none was made."""
        self._claims.pop(0).told.close()
        return self._claims[0] if self._claims and self._claims[0].answer is not NOTHING else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is claimed any more."""
        for claim in self._claims:
            claim.told.close()

    def _goes_on(self) -> bool:
        """Asked before the turn is ended: whether the next one is taken in this message."""
        if self._services.settings.turns_per_message == 1 or self._count >= MOST_TURNS or self._keeper.draining():
            return False
        late = self._services.clock.boottime_s() - self._began_s >= LONGEST_S
        return not late and not self._services.dispatcher.has_waiting()
