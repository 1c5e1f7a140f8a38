"""Asking people, and taking their answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from neuraphage.decide.answers import PermissionAnswer, Scope, taken_answer
from neuraphage.decide.asking import SUMMARY_CHARS, params_summary
from neuraphage.decide.edits import changed
from neuraphage.decide.hashing import call_name, prompt_id, sha256_hex
from neuraphage.decide.host_requests import host_asked
from neuraphage.decide.policy import TIMEOUT
from neuraphage.decide.shorten import shorten
from neuraphage.model.effect import EffectState, Marker, MarkerName, Permission, ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.hook import HookPoint
from neuraphage.model.prompt import PERMISSION_OPTIONS, InboxItem, Prompt, PromptKind
from neuraphage.model.tool import ControlKind, ToolCall, ToolResult
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.ports import Settled, SuspendTo
from neuraphage.runtime.host_step import HostStep
from neuraphage.runtime.input_guard import judged_input
from neuraphage.runtime.seals import PERMISSION_EVENTS, SAID_CHARS, Seals, author, requested
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.unit_of_work import UnitOfWork

UNKNOWN_OPTIONS = ("it ran", "it did not run")


class PeopleStep:
    """Prompts and answers of one turn.

    Args:
        services: the ports.
        work: the working copy.
        tools: records results.
        seals: what approvals are bound to.
    """

    def __init__(self, services: Services, work: UnitOfWork, tools: ToolStep, seals: Seals) -> None:
        self._services = services
        self._work = work
        self._tools = tools
        self._seals = seals
        self._hosts = HostStep(work)

    def open_for(self, asked: Sequence[ToolCall], calls: Sequence[ToolCall], outside: Collection[str] = ()) -> None:
        """Note a prompt for each call that needs one.

        Args:
            asked: these.
            calls: all of the reply, whose order the prompts keep.
            outside: tool_use ids of those that would run outside of the sandbox.
        """
        opened = [self._prompt(call, calls.index(call), call.tool_use_id in outside) for call in asked]
        self._open(opened, {call.tool_use_id: self._seals.evidence(call) for call in asked})

    def wait(self) -> Settled:
        """Give the lease back until an open prompt is answered."""
        self._work.note(marker=self.marker())
        prompts = [{"id": p.prompt_id, "kind": p.kind.value} for p in self._work.prompts.values()]
        return self._work.suspend(SuspendTo.WAIT, detail={"prompts": prompts})

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

    def open_hosts(self, call: ToolCall, index: int, places: Sequence[str]) -> None:
        """Note a question about each host that the command of a call was refused."""
        self._hosts.open_for(call, index, places)

    def marker(self) -> Marker:
        """The marker of a turn that waits for its open prompts."""
        return Marker(name=MarkerName.WAITING_FOR_USER, prompt_hash=sha256_hex(sorted(self._work.prompts)))

    def take(self, calls: Sequence[ToolCall]) -> None:
        """Note every answer that has come: permissions are decided, questions get their results.

        Args:
            calls: of the turn's reply.
        """
        for raw, item in list(self._work.inbox):
            prompt = self._work.prompts.get(item.prompt_id or "")
            if prompt is None or prompt.kind is PromptKind.CONVERSATION:
                continue
            self._work.consume(raw)
            self._work.close_prompt(prompt.prompt_id)
            call = next((c for c in calls if c.tool_use_id == prompt.tool_use_id), None)
            if call is not None:
                self._answered(call, prompt, item)
        for prompt in [p for p in self._work.prompts.values() if p.kind is PromptKind.CONVERSATION]:
            # its answers are any input, which the next request takes up
            self._work.close_prompt(prompt.prompt_id)
        self._drop_strays()

    def _drop_strays(self) -> None:
        """An answer whose prompt is gone has nothing to say to anyone."""
        for raw, item in list(self._work.inbox):
            if item.kind == "answer" and item.prompt_id not in self._work.prompts:
                self._work.consume(raw)

    def _answered(self, call: ToolCall, prompt: Prompt, item: InboxItem) -> None:
        text = self._services.redaction.text(item.text)
        place = host_asked(prompt)
        if place is not None:
            self._hosts.answered(call, place, prompt, item, text)
            return
        if prompt.kind is PromptKind.QUESTION:
            entry = self._work.tool_effect(call.tool_use_id)
            started = entry is not None and entry.state is EffectState.STARTED
            text = judged_input(self._services, self._work, text, prompt.prompt_id, item.by)
            taken = {"prompt": prompt.prompt_id, "answer": shorten(text, SAID_CHARS)}
            self._work.note(events=[Event(kind=EventKind.ANSWER_TAKEN, data=taken)])
            if item.by == TIMEOUT:
                text = f"Nobody answered in time. The answer for that case is: {text}"
            said = f"The call was interrupted. A person was asked whether it ran, and said: {text}" if started else text
            self._tools.note(call, ToolResult(text=said, is_error=started))
            return
        entry = self._work.tool_effect(call.tool_use_id)
        if entry is None:
            raise AssertionError(f"a permission of a call without an entry: {call.tool_use_id}")
        answer = taken_answer(item.text, call.name)
        if answer.changes is None:
            answer = taken_answer(text, call.name)
        permission = answer.permission
        if prompt.digest is None and prompt.params_hash != _params_hash(call):
            # of a release without digests: an approval holds for the very parameters that it was given for
            self._work.note(journal=[entry.model_copy(update={"prompt_id": None})])
            return
        if answer.changes is not None:
            self._edited(call, prompt, item, self._services.redaction.json(dict(answer.changes)))
            return
        digest = prompt.digest if permission is Permission.GRANTED else None
        decided = {"permission": permission, "permission_by": item.by, "digest": digest}
        if answer.scope is not Scope.ONCE:  # also what is a rule of the person: it may be another machine's
            self._work.remember_grant(answer.subject(call.name), permission.value)
        self._work.note(
            journal=[entry.model_copy(update={**decided, "words": answer.words or None})],
            events=[
                Event(
                    kind=PERMISSION_EVENTS[permission],
                    data={
                        "tool": call.name,
                        "id": call.tool_use_id,
                        **author(item, prompt, answer),
                        "digest": prompt.digest,
                    },
                )
            ],
        )

    def _edited(self, call: ToolCall, prompt: Prompt, item: InboxItem, changes: dict[str, Any]) -> None:
        """A person allows a call with other parameters: they must fit, and what they were shown must still be so."""
        entry = self._work.tool_effect(call.tool_use_id)
        if entry is None:
            raise AssertionError(f"a permission of a call without an entry: {call.tool_use_id}")
        mine = changed(call, changes)
        problem = self._tools.problem(mine)
        if problem is not None or prompt.digest != self._seals.digest(call):
            self._seals.refuse_edit(call, entry, problem)
            return
        allowed = entry.model_copy(
            update={"permission": Permission.GRANTED, "permission_by": item.by, "edited": changes, "words": None}
        )
        allowed = allowed.model_copy(update={"evidence": self._seals.evidence(mine)})
        self._work.note(journal=[allowed])
        digest = self._seals.digest(mine)  # by the evidence that was just noted
        said = author(item, prompt, PermissionAnswer(Permission.GRANTED, changes=changes))
        data = {"tool": call.name, "id": call.tool_use_id, **said, "digest": digest, "edited": sorted(changes)}
        self._work.note(
            journal=[allowed.model_copy(update={"digest": digest})],
            events=[Event(kind=EventKind.PERMISSION_GRANTED, data=data)],
        )

    def _open(self, prompts: Iterable[Prompt], approved: Mapping[str, dict[str, Any] | None] | None = None) -> None:
        opened = list(prompts)
        self._work.open_prompts(opened)
        planned = []
        for prompt in opened:
            key = prompt.tool_use_id or ""
            entry = self._work.tool_effect(key) or ToolEffect(
                key=key,
                state=EffectState.PLANNED,
                fence=self._work.held.lease.fence,
                tool=prompt.tool,
            )
            if approved is not None:
                entry = entry.model_copy(update={"evidence": approved.get(key), "put_back": False})
            if prompt.kind is PromptKind.PERMISSION:
                entry = entry.model_copy(update={"asked": entry.asked + 1})
            planned.append(entry.model_copy(update={"prompt_id": prompt.prompt_id}))
        events = [requested(prompt) for prompt in opened if prompt.kind is PromptKind.PERMISSION]
        self._work.note(journal=planned, events=events)

    def _prompt(self, call: ToolCall, index: int, is_outside: bool) -> Prompt:
        record = self._work.record
        declaration = self._services.declarations[call.name]
        now_ms = self._work.now_ms()
        timeout_s = record.spec.permission_timeout_s
        if declaration.control is ControlKind.ASK_USER:
            return Prompt(
                prompt_id=self._prompt_id(call, "question"),
                kind=PromptKind.QUESTION,
                text=self._clean(self._question(call)),
                options=tuple(str(o) for o in call.params.get("options") or ()),
                tool=call.name,
                tool_use_id=call.tool_use_id,
                opened_at_ms=now_ms,
                call_index=index,
            )
        entry = self._work.tool_effect(call.tool_use_id)
        digest, before = self._seals.digest(call), entry.asked if entry else 0
        # each asking is another prompt: one commit cannot close and open the same id, and a late answer is for none
        purpose = f"permission:{digest}:{before}" if before else f"permission:{digest}"
        where = " outside of the sandbox" if is_outside else ""
        since = f" {self._clean(entry.voided)}" if entry and entry.voided else ""
        return Prompt(
            prompt_id=self._prompt_id(call, purpose),
            kind=PromptKind.PERMISSION,
            text=f"May {call.name} run{where}?{since}",
            options=PERMISSION_OPTIONS,
            tool=call.name,
            tool_use_id=call.tool_use_id,
            params_summary=self._summary(call),
            params_hash=_params_hash(call),
            digest=digest,
            opened_at_ms=now_ms,
            deadline_ms=None if timeout_s is None else now_ms + int(timeout_s * 1000),
            default_answer=None if timeout_s is None else "no",
            call_index=index,
        )

    def _question(self, call: ToolCall) -> str:
        """The words of a question: those of the model, or of a guard."""
        entry = self._work.tool_effect(call.tool_use_id)
        said = entry.judged_at(HookPoint.PRE_USER_PROMPT) if entry is not None and entry.guarded else None
        return str(call.params.get("question", "")) if said is None or said.text is None else said.text

    def _prompt_id(self, call: ToolCall, purpose: str) -> str:
        record = self._work.record
        name = call_name(call.tool_use_id, record.resets)
        return prompt_id(record.task_id, record.counters.iteration, name, purpose)

    def _summary(self, call: ToolCall) -> str:
        declaration = self._services.declarations.get(call.name)
        return self._clean(params_summary(call.params, declaration.traits if declaration else ToolTraits()))

    def _clean(self, text: str) -> str:
        # in this order: a cut could leave half of a secret, which nothing recognizes
        return shorten(self._services.redaction.text(text), SUMMARY_CHARS)


def _params_hash(call: ToolCall) -> str:
    return sha256_hex([call.name, call.params])
