"""One call of the model: announce it, stream it, note its outcome."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from neuraphage.decide.attachments import with_media
from neuraphage.decide.begun_call import Finding
from neuraphage.decide.conversation import calls_in, tool_calls, with_own_ids
from neuraphage.decide.guarded_request import as_guarded, judged_of_request, reply_by_guard
from neuraphage.decide.hashing import call_id, canonical, request_id, sha256_hex
from neuraphage.decide.prompt_cache import lifetime
from neuraphage.decide.replies import actual_stop, unfinished_call
from neuraphage.decide.request_extra import extra_for
from neuraphage.decide.request_head import system_blocks
from neuraphage.decide.retry import RetryDecision, after_fault, is_sent_plain
from neuraphage.decide.sendable import without_broken_signatures
from neuraphage.decide.summary_model import gives_way
from neuraphage.decide.surrogates import whole_text
from neuraphage.decide.tiers import fallen_back
from neuraphage.decide.tool_input import why_unusable
from neuraphage.errors import CancelRequested, FaultKind, ModelFault
from neuraphage.model.effect import EffectState, Marker, MarkerName, ModelEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.message import Entry, ModelReply, ModelRequest
from neuraphage.model.tool import ToolResult
from neuraphage.model.usage import Usage
from neuraphage.runtime.announcer import Announcer, settled
from neuraphage.runtime.cache_facts import cache_use
from neuraphage.runtime.capacity_step import CapacityStep
from neuraphage.runtime.input_guard import judge_goal
from neuraphage.runtime.live_view import LiveView
from neuraphage.runtime.other_model import changed, escalate
from neuraphage.runtime.relayed_call import attached, begun_call, relayed
from neuraphage.runtime.request_guards import (
    before_assembly,
    judged_reply,
    judged_request,
)
from neuraphage.runtime.request_inputs import take_inputs, tell_of_git, tell_of_place
from neuraphage.runtime.savepoint import savepoint
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_result import note_result
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)


class ModelStep:
    """Calls the model for one turn.

    Args:
        services: the ports.
        work: the working copy.
        capacity: is told what came of the call.
        announcer: has it announced, with what it may cost.
    """

    def __init__(self, services: Services, work: UnitOfWork, capacity: CapacityStep, announcer: Announcer) -> None:
        self._services = services
        self._work = work
        self._capacity = capacity
        self._announcer = announcer
        self._cost = announcer.cost

    def call(self, *, resend: bool) -> None:
        """Commit the intent, call, and note the reply or the fault.

        Args:
            resend: an earlier call of this request may be billed.

        Raises:
            LeaseLost, CancelRequested, StoreUnavailable: nothing is noted.
            NoMoney, NoTurns: there is no room for it; nothing is noted.
            GuardBlocked: a guard lets it not be sent; nothing is noted.
        """
        work, take_back = self._work, savepoint(self._work)
        iteration = work.record.counters.iteration
        before = work.model_effect
        guarded = {} if before is None else judged_of_request(before)
        if before is None or before.attempt == 0:
            judge_goal(self._services, work)
            tell_of_place(self._services, work, iteration)
            tell_of_git(self._services, work, iteration)
            take_inputs(self._services, work, iteration)
            escalate(self._services, work)
            if self._services.guards.points:
                guarded = before_assembly(self._services, work, before)
            if not self._cost.is_known(work.record.choice.model):
                return  # which the next decision says
        fence = work.held.lease.fence
        entry = ModelEffect(
            state=EffectState.STARTED,
            fence=fence,
            request_id=(before and before.request_id) or request_id(work.record.task_id, work.record.seq),
            attempt=before.attempt + 1 if before else 1,
            faults=before.faults if before else 0,
            plain=before is not None and (before.plain or is_sent_plain(before.fault)),
            compacted=before is not None and before.compacted,
            guarded=guarded,
        )
        request = self.request(entry, call_id(entry.request_id or "", entry.attempt))
        if self._services.guards.points:
            entry, request = judged_request(self._services, work, entry, request, take_back)
            said = reply_by_guard(entry, request)
            if said is not None:
                work.drop_announced()
                self._note_reply(entry, request, said)
                return
        if work.is_announced(entry):
            work.begin_announced(entry)
        else:
            entry = self._announcer.announce(entry, request, self._capacity, take_back, resend=resend)
        self._read_reply(entry, request)

    def settle(self) -> Finding:
        """Find out what came of the call, for a reply or for a summary, that a former lease had sent."""
        entry = begun_call(self._work)
        if entry is None or entry.request_id is None:
            return Finding.UNKNOWN
        return self._services.relay.settle(call_id(entry.request_id, entry.attempt))

    def attach(self) -> None:
        """Commit that this lease goes on with a call that a former one had sent, and note the reply or the fault.

        Raises:
            LeaseLost, CancelRequested, StoreUnavailable: nothing is noted as its outcome.
        """
        before = self._work.model_effect
        if before is None:
            raise AssertionError("there is no call to attach to")
        entry = attached(self._work, before)
        self._capacity.attached(entry.attempt)
        self._read_reply(entry, self.request(entry, call_id(entry.request_id or "", entry.attempt)))

    def _read_reply(self, entry: ModelEffect, request: ModelRequest) -> None:
        """Note the reply or the fault of an announced call."""
        work, services = self._work, self._services
        with relayed(services, work, entry) as call, LiveView(services, work.record.task_id, call) as view:
            try:
                reply = services.model.call(request, self._capacity.begun(view.show), work.held)
                self.check_size(reply)
            except ModelFault as fault:
                self._capacity.failed(fault)
                self.note_fault(entry, request, fault)
            except CancelRequested as cancelled:
                self._capacity.given_up()
                self.note_cancelled(entry, request, cancelled)
                raise
            else:
                self._capacity.replied(reply)
                self._note_reply(entry, request, reply)
                view.end()

    def request(self, entry: ModelEffect, call: str = "") -> ModelRequest:
        """The request of a call as the conversation stands; `call` names it for a relay."""
        spec = self._work.record.spec
        request = ModelRequest.trusted(
            request_id=entry.request_id or "",
            model=self._work.record.choice.model,
            system=system_blocks(spec),
            messages=with_media(
                self._work.assembly.request_messages(self._work.entries, plain=entry.plain),
                self._work.assembly.held(self._work.entries),
                sees=self._services.sees(self._work.record.choice.model),
                plain=entry.plain,
            ),
            tools=self._services.tool_definitions,
            max_tokens=spec.max_tokens,
            cache_ttl=lifetime(self._work.entries),
            extra=extra_for(self._work.record),
            call_id=call,
            task_id=self._work.record.task_id,
        )
        return as_guarded(request, entry) if entry.guarded else request

    def note_fault(self, entry: ModelEffect, request: ModelRequest, fault: ModelFault) -> None:
        """Note that a call failed, and when the next one is due."""
        work = self._work
        tried = {"plain": entry.plain, "compacted": entry.compacted}
        decision = after_fault(fault.kind, entry.faults, fault.retry_after_s, entry.attempt, **tried)
        retry_at_ms = None if decision.delay_s is None else work.now_ms() + int(decision.delay_s * 1000)
        text = whole_text(self._services.redaction.text(fault.detail))[:2_000]
        choice, following = work.record.choice, None
        why_own = gives_way(entry, choice.model, fault.kind, decision)
        if request.model == choice.model:
            following = fallen_back(choice, fault.kind, is_over=retry_at_ms is None)
        if following is not None or why_own:
            decision, retry_at_ms = RetryDecision(0.0, 0), work.now_ms()
        spent = {} if fault.usage is None else self._cost.spent(request.model, fault.model, Usage(**fault.usage))
        failed = entry.model_copy(
            update={
                "state": EffectState.FAILED,
                "error": text,
                "fault": fault.kind.value,
                "faults": decision.faults,
                "reply_begun": fault.reply_begun,
                "retry_at_ms": retry_at_ms,
                "why_own": why_own or entry.why_own,
            }
        )
        data = {
            "request_id": entry.request_id,
            "fault": fault.kind.value,
            "retry_at_ms": retry_at_ms,
            "cost_microusd": spent.get("cost_microusd", 0),
        } | ({"model": request.model, "why_own": why_own} if why_own else {})
        work.note(
            journal=[failed],
            add=spent,
            on=request.model,
            reserve_microusd=settled(entry),
            events=[Event(kind=EventKind.REQUEST_FAILED, data=data)],
            model=None if following is None else changed(work, following, "fallback", fault.kind.value),
        )

    def note_cancelled(self, entry: ModelEffect, request: ModelRequest, cancelled: CancelRequested) -> None:
        """Note what a reply had cost that a cancel broke off; the write that ends the task counts it."""
        if cancelled.usage is None:
            return
        spent = self._cost.spent(request.model, cancelled.model, Usage(**cancelled.usage))
        data = {
            "request_id": entry.request_id,
            "fault": "cancelled",
            "retry_at_ms": None,
            "cost_microusd": spent["cost_microusd"],
        }
        ended = {"state": EffectState.FAILED, "error": "cancelled", "reply_begun": True}
        self._work.note(
            journal=[entry.model_copy(update=ended)],
            add=spent,
            on=request.model,
            reserve_microusd=settled(entry),
            events=[Event(kind=EventKind.REQUEST_FAILED, data=data)],
        )

    def _note_reply(self, entry: ModelEffect, request: ModelRequest, reply: ModelReply) -> None:
        work, services = self._work, self._services
        clean: list[dict[str, Any]] = services.redaction.json(reply.content)
        clean = without_broken_signatures(reply.content, clean)
        stop_reason = actual_stop(reply, request.max_tokens)
        entry, clean = judged_reply(services, work, entry, reply, clean)
        content = with_own_ids(clean, work.assembly.call_ids(work.entries), entry.request_id or "")
        stored = Entry.trusted(
            role="assistant",
            content=content,
            turn=work.record.counters.iteration,
            stop_reason=stop_reason,
            unusable_calls=len(reply.invalid_inputs),
            supersedes=None,
            compaction=None,
            tokens=reply.usage.all_tokens,
            cache=cache_use(services, work, reply.usage, request.cache_ttl),
            first_token_ms=reply.first_token_ms,
            total_ms=reply.total_ms,
        )
        digest = sha256_hex(content)
        spent = self._cost.spent(request.model, reply.model, reply.usage)
        done = entry.model_copy(
            update={
                "state": EffectState.COMPLETED,
                "response_hash": digest,
                "stop_reason": stop_reason,
            }
        )
        data = {"request_id": entry.request_id, "stop": stop_reason, "cost_microusd": spent["cost_microusd"]}
        work.note(
            entries=[stored],  # without content too: such replies are counted
            journal=[done],
            marker=Marker(name=MarkerName.RESPONSE_RECEIVED, response_hash=digest),
            outcome=True,
            add={"model_calls": 1, **spent},
            on=request.model,
            reserve_microusd=settled(entry),
            events=[Event(kind=EventKind.RESPONSE_RECEIVED, data=data)],
        )
        raw_inputs = {
            mine["id"]: reply.invalid_inputs[sent["id"]]
            for sent, mine in zip(calls_in(reply.content), calls_in(content), strict=False)  # a guard may leave none
            if sent["id"] in reply.invalid_inputs
        }
        raw_inputs.pop(unfinished_call(content, stop_reason) or "", None)  # the length limit is what is told of that
        self._refuse_invalid(content, raw_inputs)

    def check_size(self, reply: ModelReply) -> None:
        """A reply that is too long to be stored is a fault that no repeat can help. It is paid all the same."""
        size, limit = len(canonical(reply.content)), self._services.settings.max_entry_bytes
        if size > limit:
            text = f"the reply is {size} bytes, max_entry_bytes is {limit}; ask for less at a time"
            raise ModelFault(FaultKind.TOO_LARGE, text, usage=reply.usage.model_dump(), model=reply.model)

    def _refuse_invalid(self, content: list[dict[str, Any]], raw_inputs: Mapping[str, str]) -> None:
        """A call whose input cannot be used gets its error result at once: what was wrong is not stored."""
        for call in tool_calls(content):
            if call.tool_use_id in raw_inputs:
                text = why_unusable(call.name, raw_inputs[call.tool_use_id])
                note_result(self._work, call.tool_use_id, call.name, ToolResult(text=text, is_error=True))
