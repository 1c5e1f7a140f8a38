"""One call of the model: announce it, stream it, note its outcome."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from neuraphage.decide.begun_call import Finding
from neuraphage.decide.conversation import tool_calls, with_own_ids
from neuraphage.decide.hashing import call_id, canonical, request_id, sha256_hex
from neuraphage.decide.replies import actual_stop, unfinished_call
from neuraphage.decide.retry import after_fault, is_sent_plain
from neuraphage.decide.sendable import without_broken_signatures
from neuraphage.decide.surrogates import whole_text
from neuraphage.decide.tool_input import why_unusable
from neuraphage.decide.working_dir_notes import working_dir_note
from neuraphage.errors import CancelRequested, FaultKind, ModelFault
from neuraphage.model.effect import EffectState, Marker, MarkerName, ModelEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.message import Entry, ModelReply, ModelRequest
from neuraphage.model.prompt import PromptKind
from neuraphage.model.tool import ToolResult
from neuraphage.model.usage import Usage
from neuraphage.runtime.call_cost import CallCost
from neuraphage.runtime.live_view import LiveView
from neuraphage.runtime.no_money import NoMoney
from neuraphage.runtime.savepoint import savepoint
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_result import note_result
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)

SYSTEM_TEXT = (
    "You are an agent that works on a task with the tools given. Paths are relative to the working directory. "
    "Read before you write. When the task is done, say so in a short summary and stop calling tools."
)


class ModelStep:
    """Calls the model for one turn.

    Args:
        services: the ports.
        work: the working copy.
    """

    def __init__(self, services: Services, work: UnitOfWork) -> None:
        self._services = services
        self._work = work
        self._cost = CallCost(services, work.record.spec.model)

    def call(self, *, resend: bool) -> None:
        """Commit the intent, call, and note the reply or the fault.

        Args:
            resend: an earlier call of this request may be billed.

        Raises:
            LeaseLost, CancelRequested, StoreUnavailable: nothing is noted.
            NoMoney: a pool has no room for it; nothing is noted.
        """
        work, take_back = self._work, savepoint(self._work)
        iteration = work.record.counters.iteration
        before = work.model_effect
        if before is None:
            self._tell_of_place(iteration)
            self._take_inputs(iteration)
        fence = work.held.lease.fence
        entry = ModelEffect(
            state=EffectState.STARTED,
            fence=fence,
            request_id=before.request_id if before else request_id(work.record.task_id, work.record.seq),
            attempt=before.attempt + 1 if before else 1,
            faults=before.faults if before else 0,
            plain=before is not None and (before.plain or is_sent_plain(before.fault)),
        )
        request = self._request(entry)
        if work.is_announced(entry):
            work.begin_announced(entry)
        else:
            cost = self._cost.worst_case_microusd(request)
            entry = entry.model_copy(update={"reserved_microusd": cost})
            try:
                self._announce(entry, self._cost.lost_microusd(before, cost), resend=resend)
            except NoMoney:
                take_back()
                raise
        self._read_reply(entry, request)

    def settle(self) -> Finding:
        """Find out what came of the call that a former lease had sent."""
        entry = self._work.model_effect
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
        entry = before.model_copy(update={"fence": self._work.held.lease.fence})
        data = {"request_id": entry.request_id, "attempt": entry.attempt, "fence": entry.fence}
        self._work.note(journal=[entry], events=[Event(kind=EventKind.REQUEST_ATTACHED, data=data)])
        self._work.begin_effect()
        self._read_reply(entry, self._request(entry))

    def _read_reply(self, entry: ModelEffect, request: ModelRequest) -> None:
        """Note the reply or the fault of an announced call. What a relay holds is let go when that is stored."""
        work, services = self._work, self._services
        call = request.call_id
        view = LiveView(services, work.record.task_id, call)
        try:
            reply = services.model.call(request, view.show, work.held)
            self._check_size(reply)
        except ModelFault as fault:
            self._note_fault(entry, fault)
        except BaseException as ended:
            services.relay.leave(call)
            if isinstance(ended, CancelRequested):
                services.relay.cancel(call)
            raise
        else:
            self._note_reply(entry, reply)
            view.end()
        finally:
            work.held.detachable = False
        work.when_written(lambda: services.relay.stored(call))

    def _announce(self, entry: ModelEffect, lost_microusd: int, *, resend: bool) -> None:
        data: dict[str, Any] = {"request_id": entry.request_id, "attempt": entry.attempt, "fence": entry.fence}
        self._work.note(
            journal=[entry],
            marker=Marker(name=MarkerName.REQUEST_SENT, request_id=entry.request_id),
            add={"model_resends": 1, "recovery_cost_microusd": lost_microusd} if resend else None,
            model=self._work.record.spec.model,
            reserve_microusd=entry.reserved_microusd,
            events=[Event(kind=EventKind.REQUEST_SENT, data=data)],
        )
        self._work.begin_effect()

    def _tell_of_place(self, iteration: int) -> None:
        """A working directory that went, or came back, is told with the next request: to the model and to people."""
        working_dir = self._work.record.spec.working_dir
        if working_dir is None:
            return
        report = self._services.files.problem(working_dir)
        if report is not None:
            report = self._services.redaction.text(report)
        note = working_dir_note(self._work.entries, report)
        if note is None:
            return
        kind = EventKind.WORKING_DIR_BACK if report is None else EventKind.WORKING_DIR_LOST
        log.warning("%s", note, extra={"task": self._work.record.task_id})
        self._work.note(
            entries=[Entry(role="user", content=[{"type": "text", "text": note}], turn=iteration)],
            events=[Event(kind=kind, data={"path": working_dir, "report": report})],
        )

    def _take_inputs(self, iteration: int) -> None:
        """What people wrote becomes part of the conversation with this request, never in mid-turn."""
        work = self._work
        for prompt in [p for p in work.prompts.values() if p.kind is PromptKind.CONVERSATION]:
            work.close_prompt(prompt.prompt_id)
        texts = []
        for raw, item in list(work.inbox):
            if item.kind == "input":
                texts.append(self._services.redaction.text(item.text))
                work.consume(raw)
        blocks = [{"type": "text", "text": text} for text in texts if text.strip()]
        if blocks:
            work.note(entries=[Entry(role="user", content=blocks, turn=iteration)])

    def _request(self, entry: ModelEffect) -> ModelRequest:
        spec = self._work.record.spec
        system = SYSTEM_TEXT + (f"\n\n{spec.system}" if spec.system else "")
        tools = [
            {"name": d.name, "description": d.description, "input_schema": d.input_schema}
            for d in self._services.declarations.values()
        ]
        return ModelRequest.model_construct(
            request_id=entry.request_id or "",
            model=spec.model,
            system=[{"type": "text", "text": system}],
            messages=self._work.assembly.request_messages(self._work.entries, plain=entry.plain),
            tools=tools,
            max_tokens=spec.max_tokens,
            extra={},
            call_id=call_id(entry.request_id or "", entry.attempt),
            task_id=self._work.record.task_id,
        )

    def _note_fault(self, entry: ModelEffect, fault: ModelFault) -> None:
        work = self._work
        decision = after_fault(fault.kind, entry.faults, fault.retry_after_s, entry.attempt, plain=entry.plain)
        retry_at_ms = None if decision.delay_s is None else work.now_ms() + int(decision.delay_s * 1000)
        text = whole_text(self._services.redaction.text(fault.detail))[:2_000]
        spent = self._cost.spent(fault.model, Usage(**fault.usage)) if fault.usage is not None else {}
        failed = entry.model_copy(
            update={
                "state": EffectState.FAILED,
                "error": text,
                "fault": fault.kind.value,
                "faults": decision.faults,
                "reply_begun": fault.reply_begun,
                "retry_at_ms": retry_at_ms,
            }
        )
        data = {
            "request_id": entry.request_id,
            "fault": fault.kind.value,
            "retry_at_ms": retry_at_ms,
            "cost_microusd": spent.get("cost_microusd", 0),
        }
        events = [Event(kind=EventKind.REQUEST_FAILED, data=data)]
        work.note(journal=[failed], add=spent, events=events, **self._settled(entry))

    def _settled(self, entry: ModelEffect) -> dict[str, Any]:
        """With the outcome of a call what it had reserved is given back."""
        model = self._work.record.spec.model
        return {"model": model, "reserve_microusd": 0 if entry.reserved_microusd else None}

    def _note_reply(self, entry: ModelEffect, reply: ModelReply) -> None:
        work, services = self._work, self._services
        clean: list[dict[str, Any]] = services.redaction.json(reply.content)
        clean = without_broken_signatures(reply.content, clean)
        stop_reason = actual_stop(reply, work.record.spec.max_tokens)
        content = with_own_ids(clean, work.assembly.call_ids(work.entries), entry.request_id or "")
        stored = Entry.model_construct(
            role="assistant",
            content=content,
            turn=work.record.counters.iteration,
            stop_reason=stop_reason,
            unusable_calls=len(reply.invalid_inputs),
            supersedes=None,
        )
        digest = sha256_hex(content)
        spent = self._cost.spent(reply.model, reply.usage)
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
            events=[Event(kind=EventKind.RESPONSE_RECEIVED, data=data)],
            **self._settled(entry),
        )
        raw_inputs = {
            mine["id"]: reply.invalid_inputs[sent["id"]]
            for sent, mine in zip(reply.content, content, strict=True)
            if mine.get("type") == "tool_use" and sent["id"] in reply.invalid_inputs
        }
        raw_inputs.pop(unfinished_call(content, stop_reason) or "", None)  # the length limit is what is told of that
        self._refuse_invalid(content, raw_inputs)

    def _check_size(self, reply: ModelReply) -> None:
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
