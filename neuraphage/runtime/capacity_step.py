"""What a turn asks and tells of a model: whether it takes calls now, and what calls have used of its limits.

Nothing, while no limits are set, no call was refused, and enough is left of what the provider allows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from neuraphage.decide.capacity import cooling_after, is_unanswered, shows_capacity
from neuraphage.decide.capacity_actions import WaitForCapacity
from neuraphage.decide.learned_limits import exhausted_s, limits_in_force
from neuraphage.decide.model_family import gate_of
from neuraphage.decide.model_limits import limits_of
from neuraphage.decide.summary_model import SummaryChoice, next_call
from neuraphage.errors import ModelFault, StoreError
from neuraphage.model.capacity import CallShare, Capacity, CapacityReason, HeardLimits, ModelLimits, ToldLimits
from neuraphage.model.effect import MODEL_ENTRY, SUMMARY_ENTRY, EffectState, ModelEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.message import ModelReply
from neuraphage.model.usage import Usage
from neuraphage.ports import Delta
from neuraphage.runtime.call_share import Limits, share_of_reply, share_of_summary
from neuraphage.runtime.limits_heard import LimitsHeard
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)

STALE_S = 2.0
"""A call that is sent so long after it was let in is let in once more: it counts from when it is sent."""


class CapacityStep:
    """The gate of a model, for the calls of one kind that one turn makes.

    Args:
        services: the ports.
        work: the working copy.
        summary_by: the model of calls for a summary; None for the turn's reply, and the task's own model.
    """

    def __init__(self, services: Services, work: UnitOfWork, summary_by: str | None = None) -> None:
        self._services = services
        self._work = work
        self._key = MODEL_ENTRY if summary_by is None else SUMMARY_ENTRY
        model = summary_by or work.record.choice.model
        self._gate = gate_of(services.key_pool, model)
        self._configured = limits_of(services.settings.model_limits, model)
        self._hears = LimitsHeard(services, self._gate, self._configured)
        self._limits = self._hears.in_force(work.kept.get(self._gate))
        self._share: CallShare | None = None
        self._asked_s = 0.0
        self._tokens = 0
        self._sent_s = 0.0
        self.found: Capacity | None = None
        """What was answered for the next call."""

    @property
    def is_asked(self) -> bool:
        """Whether it is to be asked before a call."""
        return self._limits is not None or self._gate in self._work.cooling

    def ask(self, input_tokens: int = 0) -> None:
        """Ask whether the model takes a call now.

        Args:
            input_tokens: estimate of the request; 0 for the next request of the conversation.

        Raises:
            StoreUnavailable: the store stayed away.
        """
        record, store = self._work.record, self._services.store
        if self._limits is not None and self._share is None:
            before = self._before()
            is_first = before is None or (self._key == SUMMARY_ENTRY and before.state is EffectState.COMPLETED)
            attempt = 1 if is_first or before is None else before.attempt + 1
            self._share = self._wanted(self._limits, attempt, input_tokens)
        self._asked_s, self._tokens = self._services.clock.boottime_s(), input_tokens
        self.found = self._work.asked(
            lambda: store.admit_call(
                self._gate, record.task_id, priority=record.spec.priority, limits=self._limits, share=self._share
            )
        )

    def hold(self, action: WaitForCapacity) -> None:
        """Note that the call waits; told once for each reason."""
        work, before, summary = self._work, self._before(), action.summary
        planned = before or ModelEffect(state=EffectState.PLANNED, fence=work.held.lease.fence)
        if summary is not None:
            choice, plan = SummaryChoice(summary.model, summary.why_own), summary.plan.model_dump(mode="json")
            planned = next_call(before, plan, choice, fence=work.held.lease.fence)
        entry = planned.model_copy(update={"awaits": (action.why, action.until_ms)})
        if before == entry:
            return
        data = {"why": action.why.value, "until_ms": action.until_ms}
        work.note(journal=[entry], events=[Event(kind=EventKind.REQUEST_HELD, data=data)])

    def attached(self, attempt: int) -> None:
        """The turn goes on with a call that a former lease had sent: its share is settled when it is over.

        Else it would count until the longest call were over, and the next ones wait for nothing.

        Args:
            attempt: of the call.
        """
        if self._limits is not None:
            self._share, self._asked_s = self._wanted(self._limits, attempt), self._services.clock.boottime_s()

    def begun(self, show: Callable[[Delta], None]) -> Callable[[Delta], None]:
        """The call is sent now.

        Args:
            show: shows pieces of the reply.

        Returns:
            The same; the first piece tells that the provider has taken the call.

        Raises:
            StoreUnavailable: the store stayed away.
        """
        clock = self._services.clock
        if self._share is not None and clock.boottime_s() - self._asked_s > STALE_S:
            self.ask(self._tokens)
        self._sent_s = clock.boottime_s()
        if self.found is None or not self.found.probes:
            return show

        def first_shown(delta: Delta) -> None:
            self._taken()
            show(delta)

        return first_shown

    # --- what came of the call ---

    def replied(self, reply: ModelReply) -> None:
        """The reply is there."""
        self._taken()
        answered_s = max(0.0, (reply.total_ms - reply.first_token_ms) / 1000)
        heard = self._hears.heard(reply.told, answered_s, is_refused=False)
        is_settled = self._settle(reply.usage, answered_s, heard)
        self._note(reply.told, heard, is_settled=is_settled)
        learned = None if heard is None else ModelLimits(**{kind: heard.limits[kind] for kind in heard.near})
        left_s = (exhausted_s(reply.told, limits_in_force(self._limits, learned)) or 0.0) - answered_s
        if left_s > 0:
            self._tell(lambda: self._services.store.cool_model(self._gate, CapacityReason.EXHAUSTED, left_s))
        self.found = None

    def failed(self, fault: ModelFault) -> None:
        """The call has failed; what that says of the model is told to all workers."""
        cooling = cooling_after(fault.kind, fault.retry_after_s)
        if cooling is not None:
            why, delay_s = cooling
            self._tell(lambda: self._services.store.cool_model(self._gate, why, delay_s))
            self._work.cooling |= {self._gate}
        elif shows_capacity(fault.kind):
            self._taken()
        told = None if fault.told is None else ToldLimits(**fault.told)
        heard = self._hears.heard(told, 0.0, is_refused=cooling is not None)
        read = self._share.input_tokens if self._share is not None and is_unanswered(fault.kind) else 0
        usage = Usage(input_tokens=read) if fault.usage is None else Usage(**fault.usage)
        is_settled = self._settle(usage, heard=heard)
        self._note(told, heard, is_settled=is_settled)
        self.found = None

    def given_up(self) -> None:
        """A person has ended it, and nobody knows what it has used."""
        if self._share is not None:
            share = self._share
            self._settle(Usage(input_tokens=share.input_tokens, output_tokens=share.output_tokens))

    def not_sent(self) -> None:
        """The call was let in and is not made now: what it took is free, and another one may find out for all."""
        if self.found is not None and self.found.probes:
            self._tell(lambda: self._services.store.cool_model(self._gate, CapacityReason.PROBE, 0.0))
        self._settle(Usage())
        self.found = None

    def _taken(self) -> None:
        """The provider has taken the call."""
        found = self.found
        if found is not None and found.probes:
            self.found = found.model_copy(update={"probes": False})
            task_id, is_limited = self._work.record.task_id, self._limits is not None
            self._tell(lambda: self._services.store.open_model(self._gate, task_id, is_limited=is_limited))

    def _settle(self, usage: Usage, answered_s: float = 0.0, heard: HeardLimits | None = None) -> bool:
        """Tell what the call has used, and what was heard with its answer; whether it had a share to settle."""
        share, limits, self._share = self._share, self._limits, None
        if share is None or limits is None:
            return False
        read = usage.input_tokens + usage.cache_creation_input_tokens
        used = CallShare(ticket=share.ticket, input_tokens=read, output_tokens=usage.output_tokens)
        # the provider has counted it no later than it began to answer, and no earlier than it was sent
        took_s = self._services.clock.boottime_s() - self._sent_s
        answered_ms = int(min(answered_s, took_s) * 1000)
        store, task_id = self._services.store, self._work.record.task_id
        self._tell(lambda: store.settle_call(self._gate, task_id, limits, used, answered_ms, heard))
        return True

    def _note(self, told: ToldLimits | None, heard: HeardLimits | None, *, is_settled: bool) -> None:
        task_id = self._work.record.task_id
        self._tell(lambda: self._hears.note(told, heard, task_id, is_settled=is_settled))

    def _before(self) -> ModelEffect | None:
        """The call of this kind that the journal knows."""
        stored = self._work.journal.get(self._key)
        return stored if isinstance(stored, ModelEffect) else None

    def _wanted(self, limits: ModelLimits, attempt: int, input_tokens: int = 0) -> CallShare:
        makes = share_of_summary if self._key == SUMMARY_ENTRY else share_of_reply
        return makes(self._services, self._work, Limits(limits, self._configured), attempt, input_tokens)

    def _tell(self, tell: Callable[[], None]) -> None:
        """Advice to others: without it they find out by themselves. It never holds up an outcome that is paid for."""
        try:
            tell()
        except StoreError as error:
            log.warning("%s: other workers were not told: %s", self._gate, error)
