"""What a turn asks and tells of a model: whether it takes calls now, and what calls have used of its limits.

Nothing, while no limits are set and no call was refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from neuraphage.decide.capacity import cooling_after, is_unanswered, shows_capacity
from neuraphage.decide.capacity_actions import WaitForCapacity
from neuraphage.decide.hashing import canonical
from neuraphage.decide.model_family import gate_of
from neuraphage.decide.model_limits import estimated_tokens, limits_of
from neuraphage.decide.summary_model import SummaryChoice, next_call
from neuraphage.errors import ModelFault, StoreError
from neuraphage.model.capacity import CallShare, Capacity, CapacityReason, LearnedLimits
from neuraphage.model.effect import MODEL_ENTRY, SUMMARY_ENTRY, EffectState, ModelEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.message import ModelReply
from neuraphage.model.usage import Usage
from neuraphage.ports import Delta
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)

STALE_S = 2.0
"""A call that is sent so long after it was let in is let in once more: it counts from when it is sent."""


LEARN_EVERY_S = 600.0
"""How often it is noted again that a provider's limits are what they were."""


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
        self._limits = limits_of(services.settings.model_limits, model)
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
            self._share = self._wanted(attempt, input_tokens)
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
            self._share, self._asked_s = self._wanted(attempt, 0), self._services.clock.boottime_s()

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
        self._settle(reply.usage, answered_s)
        if reply.limits is not None and self._limits is None:
            self._learn(reply.limits)
        left_s = reply.exhausted_s - answered_s
        if left_s > 0 and self._limits is None:  # limits that are set are kept by themselves
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
        if fault.usage is not None:
            self._settle(Usage(**fault.usage))
        elif self._share is not None:
            self._settle(Usage(input_tokens=self._share.input_tokens if is_unanswered(fault.kind) else 0))
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

    def _settle(self, usage: Usage, answered_s: float = 0.0) -> None:
        share, limits, self._share = self._share, self._limits, None
        if share is None or limits is None:
            return
        read = usage.input_tokens + usage.cache_creation_input_tokens
        used = CallShare(ticket=share.ticket, input_tokens=read, output_tokens=usage.output_tokens)
        # the provider has counted it no later than it began to answer, and no earlier than it was sent
        took_s = self._services.clock.boottime_s() - self._sent_s
        answered_ms = int(min(answered_s, took_s) * 1000)
        task_id = self._work.record.task_id
        self._tell(lambda: self._services.store.settle_call(self._gate, task_id, limits, used, answered_ms))

    def _before(self) -> ModelEffect | None:
        """The call of this kind that the journal knows."""
        stored = self._work.journal.get(self._key)
        return stored if isinstance(stored, ModelEffect) else None

    def _wanted(self, attempt: int, input_tokens: int) -> CallShare:
        """What a call may take at most, as far as can be known before."""
        work, record = self._work, self._work.record
        chars, call, output_tokens = 0, str(attempt), record.spec.max_tokens
        if self._key == SUMMARY_ENTRY:  # a turn may make several
            call = f"s{sum(entry.get('compaction') is not None for entry in work.entries)}.{attempt}"
            output_tokens = self._services.context_bounds(record).summary_tokens
        elif self._limits is not None and self._limits.input_tokens is not None:
            tools = [[d.name, d.description, d.input_schema] for d in self._services.declarations.values()]
            chars = len(canonical([entry["content"] for entry in work.entries])) + len(canonical(tools))
        return CallShare(
            ticket=f"{record.resets}.{record.counters.iteration}.{call}",
            input_tokens=input_tokens or estimated_tokens(chars),
            output_tokens=output_tokens,
        )

    def _learn(self, told: LearnedLimits) -> None:
        """Note what the provider says of its limits, where it has changed, or once in a while."""
        known, now_s = self._services.learned, self._services.clock.boottime_s()
        before = known.get(self._gate)
        if before is None or before[0] != told or now_s - before[1] > LEARN_EVERY_S:
            known[self._gate] = (told, now_s)
            self._tell(lambda: self._services.store.learn_limits(self._gate, told))

    def _tell(self, tell: Callable[[], None]) -> None:
        """Advice to others: without it they find out by themselves. It never holds up an outcome that is paid for."""
        try:
            tell()
        except StoreError as error:
            log.warning("%s: other workers were not told: %s", self._gate, error)
