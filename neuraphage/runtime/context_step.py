"""Makes a conversation shorter before a request: by what is left out, or by a summary that a model is asked for."""

from __future__ import annotations

import logging

from neuraphage.decide.before_call import is_refused
from neuraphage.decide.context_actions import Compact
from neuraphage.decide.hashing import call_id, sha256_hex, summary_request_id
from neuraphage.decide.summary_model import SummaryChoice, next_call
from neuraphage.decide.summary_request import is_whole, summary_of, summary_request
from neuraphage.errors import CancelRequested, FaultKind, ModelFault
from neuraphage.model.compaction import Compaction, Shortening
from neuraphage.model.effect import EffectState, Marker, MarkerName, ModelEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.message import Entry, ModelReply, ModelRequest
from neuraphage.ports import CountsTokens, Delta
from neuraphage.runtime.announcer import Announcer, settled
from neuraphage.runtime.gates import Gates
from neuraphage.runtime.model_step import ModelStep
from neuraphage.runtime.relayed_call import attached, relayed
from neuraphage.runtime.savepoint import savepoint
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)


class ContextStep:
    """Carries out `Compact`.

    Args:
        services: the ports.
        work: the working copy.
        calls: makes requests, and notes calls that failed.
        announcer: has calls announced, with what they may cost.
        gates: of the models that are called.
    """

    def __init__(
        self, services: Services, work: UnitOfWork, calls: ModelStep, announcer: Announcer, gates: Gates
    ) -> None:
        self._services = services
        self._work = work
        self._calls = calls
        self._announcer = announcer
        self._gates = gates

    def compact(self, action: Compact) -> None:
        """Note the compaction; for a summary commit the intent and call before, and note the summary or the fault.

        Raises:
            LeaseLost, CancelRequested, StoreUnavailable: nothing is noted.
            NoMoney: a pool has no room for the call for a summary; nothing is noted.
        """
        plan = action.plan
        if plan.how is Shortening.SUMMARY:
            self._summarize(action)
        else:  # the next commit stores it with the announcement of the request
            self._work.note(entries=[self._entry(plan)], journal=self._put_back(), events=[_told(plan)])

    def counted(self) -> int:
        """How long the next request would be by the provider's count; 0 where it does not say: the estimate serves."""
        model = self._services.model
        if not isinstance(model, CountsTokens):
            return 0
        try:
            return model.count_tokens(self._calls.request(ModelEffect(state=EffectState.PLANNED)))
        except ModelFault as fault:
            log.info("the provider did not count a request (%s); the estimate is used", fault.kind.value)
            return 0

    def _summarize(self, action: Compact) -> None:
        entry, take_back = self._entry_of_call(action), savepoint(self._work)
        request, gate = self._request(entry, action.plan), self._gates.of_summary(action.model)
        self._work.put_back_announced()
        entry = self._announcer.announce(entry, request, gate, take_back, resend=action.may_be_billed)
        self._read_summary(entry, request, action.plan)

    def attach(self) -> None:
        """Go on with a call for a summary that a former lease had sent; see ModelStep.attach."""
        before = self._work.summary_effect
        if before is None:
            raise AssertionError("there is no call to attach to")
        entry, plan = attached(self._work, before), Compaction.model_validate(before.plan)
        request = self._request(entry, plan)
        self._gates.of_summary(request.model).attached(entry.attempt)
        self._read_summary(entry, request, plan)

    def _read_summary(self, entry: ModelEffect, request: ModelRequest, plan: Compaction) -> None:
        gate = self._gates.of_summary(request.model)
        with relayed(self._services, self._work, entry):
            try:
                reply = self._services.model.call(request, gate.begun(_shown_to_nobody), self._work.held)
                self._calls.check_size(reply)
                summary = self._summary(reply, is_own=request.model == self._work.record.choice.model)
            except ModelFault as fault:
                gate.failed(fault)
                self._calls.note_fault(entry, request, fault)
            except CancelRequested as cancelled:
                gate.given_up()
                self._calls.note_cancelled(entry, request, cancelled)
                raise
            else:
                gate.replied(reply)
                told = {"summary": summary, "summary_model": request.model, "why_own": entry.why_own}
                self._note(entry, request, reply, plan.model_copy(update=told))

    def _entry_of_call(self, action: Compact) -> ModelEffect:
        work, before, record = self._work, self._work.summary_effect, self._work.record
        plan, choice = action.plan.model_dump(mode="json"), SummaryChoice(action.model, action.why_own)
        planned = next_call(before, plan, choice, fence=work.held.lease.fence)
        given_up = planned.state is EffectState.FAILED and planned.retry_at_ms is None  # a person has it tried again
        number = sum(entry.get("compaction") is not None for entry in work.entries)
        return ModelEffect(
            key=planned.key,
            state=EffectState.STARTED,
            fence=work.held.lease.fence,
            request_id=planned.request_id or summary_request_id(record.task_id, record.seq, number),
            attempt=planned.attempt + 1,
            faults=0 if given_up else planned.faults,
            compacted=planned.compacted or planned.fault == FaultKind.CONTEXT_OVERFLOW,
            plan=plan,
            model=choice.model,
            why_own=choice.why_own,
        )

    def _request(self, entry: ModelEffect, plan: Compaction) -> ModelRequest:
        model = entry.model or self._work.record.choice.model
        bounds = self._services.context_bounds(self._work.record)
        window_tokens = bounds.window_tokens
        request = summary_request(
            self._work.entries,
            plan,
            request_id=entry.request_id or "",
            model=model,
            window_tokens=window_tokens // 2 if entry.compacted else window_tokens,
            summary_tokens=bounds.summary_tokens,
        )
        call = call_id(entry.request_id or "", entry.attempt)
        return request.model_copy(update={"call_id": call, "task_id": self._work.record.task_id})

    def _summary(self, reply: ModelReply, *, is_own: bool) -> str:
        """The words of the summary, as they may be stored.

        Raises:
            ModelFault: there are none, or another model's broke off; the reply is paid all the same.
        """
        text = summary_of(reply)
        if text is None or not (is_own or is_whole(reply)):
            what = "came without words" if text is None else "is not whole"
            said = f"the summary {what} (stop reason {reply.stop_reason})"
            raise ModelFault(FaultKind.GARBAGE, said, usage=reply.usage.model_dump(), model=reply.model)
        return self._services.redaction.text(text)

    def _note(self, entry: ModelEffect, request: ModelRequest, reply: ModelReply, made: Compaction) -> None:
        digest = sha256_hex(made.summary)
        done = entry.model_copy(
            update={"state": EffectState.COMPLETED, "response_hash": digest, "stop_reason": reply.stop_reason}
        )
        spent = self._announcer.cost.spent(request.model, reply.model, reply.usage)
        received = {"request_id": entry.request_id, "stop": reply.stop_reason, "cost_microusd": spent["cost_microusd"]}
        self._work.note(
            entries=[self._entry(made).model_copy(update=_times(reply))],
            journal=[*self._put_back(), done],
            marker=Marker(name=MarkerName.SUMMARY_RECEIVED, response_hash=digest),
            outcome=True,
            add={"model_calls": 1, **spent},
            on=request.model,
            reserve_microusd=settled(entry),
            events=[Event(kind=EventKind.RESPONSE_RECEIVED, data={**received, "purpose": "summary"}), _told(made)],
        )

    def _entry(self, made: Compaction) -> Entry:
        return Entry(role="user", content=[], turn=self._work.record.counters.iteration, compaction=made)

    def _put_back(self) -> list[ModelEffect]:
        """A call that was refused for its length is planned again; only once, so that it is not refused for ever."""
        entry = self._work.model_effect
        if entry is None or not is_refused(entry):
            return []
        again = {"state": EffectState.PLANNED, "compacted": True, "retry_at_ms": None}
        return [entry.model_copy(update={**again, "fence": self._work.held.lease.fence})]


def _times(reply: ModelReply) -> dict[str, int]:
    return {"first_token_ms": reply.first_token_ms, "total_ms": reply.total_ms}


def _told(made: Compaction) -> Event:
    data = {"how": made.how.value, "before_tokens": made.before_tokens, "after_tokens": made.after_tokens}
    if made.how is Shortening.SUMMARY:
        data |= {"model": made.summary_model, "why_own": made.why_own}
    return Event(kind=EventKind.CONTEXT_COMPACTED, data=data)


def _shown_to_nobody(_: Delta) -> None:
    """A summary is no reply: who watches the task sees that it is made, and may read it afterwards."""
