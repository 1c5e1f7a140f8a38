"""Asking people, and taking their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from neuraphage.decide.asking import SUMMARY_CHARS, params_summary
from neuraphage.decide.hashing import call_name, prompt_id, sha256_hex
from neuraphage.decide.machine import NextTool, TurnState, next_tool
from neuraphage.decide.policy import TIMEOUT, read_permission, why_denied
from neuraphage.model.effect import EffectKind, EffectState, JournalEntry, Marker, MarkerName, Permission
from neuraphage.model.event import Event, EventKind
from neuraphage.model.prompt import PERMISSION_OPTIONS, InboxItem, Prompt, PromptKind
from neuraphage.model.tool import ControlKind, ToolCall, ToolResult
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.unit_of_work import UnitOfWork
from neuraphage.tools.shorten import shorten

_PERMISSION_EVENTS = {
    Permission.GRANTED: EventKind.PERMISSION_GRANTED,
    Permission.DENIED: EventKind.PERMISSION_DENIED,
}
UNKNOWN_OPTIONS = ("it ran", "it did not run")


class PeopleStep:
    """Prompts and answers of one turn.

    Args:
        services: the ports.
        work: the working copy.
        tools: records results.
    """

    def __init__(self, services: Services, work: UnitOfWork, tools: ToolStep) -> None:
        self._services = services
        self._work = work
        self._tools = tools

    def open_for(self, state: TurnState) -> None:
        """Note a prompt for every call that needs one, so that people see all of them at once."""
        opened, approved = [], {}
        for call in state.calls:
            entry = state.journal.get(call.tool_use_id)
            # a prompt named here may be gone: it went when the task failed, and a person has retried it
            untouched = entry is None or (entry.state is EffectState.PLANNED and entry.prompt_id not in state.prompts)
            if untouched and next_tool(state, call) is NextTool.ASK:
                opened.append(self._prompt(call, state.calls.index(call)))
                approved[call.tool_use_id] = self._tools.to_be_approved(call)
        self._open(opened, approved)

    def open_unknown(self, call: ToolCall, index: int, unknown: ToolResult) -> None:
        """Note a question about an interrupted call whose outcome nothing knows.

        Args:
            call: the call.
            index: its number in its reply.
            unknown: what is known.
        """
        work = self._work
        question = f"{call.name} was interrupted: did it run? {unknown.text}"
        prompt = Prompt(
            prompt_id=self._prompt_id(call, "unknown"),
            kind=PromptKind.QUESTION,
            text=self._clean(question),
            options=UNKNOWN_OPTIONS,
            tool=call.name,
            tool_use_id=call.tool_use_id,
            params_summary=self._summary(call),
            opened_at_ms=work.now_ms(),
            call_index=index,
        )
        self._open([prompt])

    def marker(self) -> Marker:
        """The marker of a turn that waits for its open prompts."""
        return Marker(name=MarkerName.WAITING_FOR_USER, prompt_hash=sha256_hex(sorted(self._work.prompts)))

    def take(self, state: TurnState) -> None:
        """Note every answer that has come: permissions are decided, questions get their results."""
        for raw, item in list(self._work.inbox):
            prompt = self._work.prompts.get(item.prompt_id or "")
            if prompt is None or prompt.kind is PromptKind.CONVERSATION:
                continue
            self._work.consume(raw)
            self._work.close_prompt(prompt.prompt_id)
            call = next((c for c in state.calls if c.tool_use_id == prompt.tool_use_id), None)
            if call is not None:
                self._answered(call, prompt, item)
        for prompt in [p for p in self._work.prompts.values() if p.kind is PromptKind.CONVERSATION]:
            # its answers are any input, which the next request takes up
            self._work.close_prompt(prompt.prompt_id)
        self._drop_strays()

    def why_denied(self, call: ToolCall) -> str:
        """What the model is told of a call that was not allowed."""
        entry = self._work.journal.get(call.tool_use_id)
        timeout_s = self._work.record.spec.permission_timeout_s
        asked = entry is not None and entry.permission is not None
        by = (entry.permission_by if entry is not None else None) or ("user" if asked else None)
        return why_denied(call.name, by, timeout_s)

    def _drop_strays(self) -> None:
        """An answer whose prompt is gone has nothing to say to anyone."""
        for raw, item in list(self._work.inbox):
            known = item.prompt_id in self._work.prompts or (item.prompt_id or "").endswith(":conversation")
            if item.kind == "answer" and not known:
                self._work.consume(raw)

    def _answered(self, call: ToolCall, prompt: Prompt, item: InboxItem) -> None:
        text = self._services.redaction.text(item.text)
        if prompt.kind is PromptKind.QUESTION:
            started = self._work.journal[call.tool_use_id].state is EffectState.STARTED
            if item.by == TIMEOUT:
                text = f"Nobody answered in time. The answer for that case is: {text}"
            said = f"The call was interrupted. A person was asked whether it ran, and said: {text}" if started else text
            self._tools.note(call, ToolResult(text=said, is_error=started))
            return
        entry = self._work.journal[call.tool_use_id]
        permission, remembered = read_permission(text)
        if prompt.params_hash != self._digest(call):
            # an approval holds for the very parameters it was given for, and nothing else
            self._work.note(journal=[entry.model_copy(update={"prompt_id": None})])
            return
        if remembered:
            self._work.remember_grant(call.name, permission.value)
        self._work.note(
            journal=[entry.model_copy(update={"permission": permission, "permission_by": item.by})],
            events=[
                Event(
                    kind=_PERMISSION_EVENTS[permission],
                    data={"tool": call.name, "id": call.tool_use_id, "by": item.by},
                )
            ],
        )

    def _open(self, prompts: Iterable[Prompt], approved: Mapping[str, dict[str, Any] | None] | None = None) -> None:
        opened = list(prompts)
        self._work.open_prompts(opened)
        planned = []
        for prompt in opened:
            key = prompt.tool_use_id or ""
            entry = self._work.journal.get(key) or JournalEntry(
                key=key,
                kind=EffectKind.TOOL,
                state=EffectState.PLANNED,
                fence=self._work.held.lease.fence,
                tool=prompt.tool,
            )
            if approved is not None:
                entry = entry.model_copy(update={"evidence": approved.get(key)})
            planned.append(entry.model_copy(update={"prompt_id": prompt.prompt_id}))
        self._work.note(journal=planned)

    def _prompt(self, call: ToolCall, index: int) -> Prompt:
        record = self._work.record
        declaration = self._services.declarations[call.name]
        now_ms = self._work.now_ms()
        timeout_s = record.spec.permission_timeout_s
        if declaration.control is ControlKind.ASK_USER:
            return Prompt(
                prompt_id=self._prompt_id(call, "question"),
                kind=PromptKind.QUESTION,
                text=self._clean(str(call.params.get("question", ""))),
                options=tuple(str(o) for o in call.params.get("options") or ()),
                tool=call.name,
                tool_use_id=call.tool_use_id,
                opened_at_ms=now_ms,
                call_index=index,
            )
        # other parameters are another prompt: one commit cannot close and open the same id
        purpose = f"permission:{self._digest(call)}"
        return Prompt(
            prompt_id=self._prompt_id(call, purpose),
            kind=PromptKind.PERMISSION,
            text=f"May {call.name} run?",
            options=PERMISSION_OPTIONS,
            tool=call.name,
            tool_use_id=call.tool_use_id,
            params_summary=self._summary(call),
            params_hash=self._digest(call),
            opened_at_ms=now_ms,
            deadline_ms=None if timeout_s is None else now_ms + int(timeout_s * 1000),
            default_answer=None if timeout_s is None else "no",
            call_index=index,
        )

    def _prompt_id(self, call: ToolCall, purpose: str) -> str:
        record = self._work.record
        name = call_name(call.tool_use_id, record.resets)
        return prompt_id(record.task_id, record.counters.iteration, name, purpose)

    def _digest(self, call: ToolCall) -> str:
        return sha256_hex([call.name, call.params])

    def _summary(self, call: ToolCall) -> str:
        declaration = self._services.declarations.get(call.name)
        return self._clean(params_summary(call.params, declaration.traits if declaration else ToolTraits()))

    def _clean(self, text: str) -> str:
        return self._services.redaction.text(shorten(text, SUMMARY_CHARS))
