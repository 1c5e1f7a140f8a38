"""One tool call: run it afresh, or settle one that a former lease had started."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from neuraphage.decide.actions import WaitForRate
from neuraphage.decide.approved_file import approved_file, as_evidence
from neuraphage.decide.attachments import checked, found_in, held_sizes, limits_of, refuse_over
from neuraphage.decide.conversation import result_of
from neuraphage.decide.edits import told_of_edit
from neuraphage.decide.files_seen import files_seen
from neuraphage.decide.given_result import raised_result
from neuraphage.decide.hashing import call_name, canonical, effect_id, sha256_hex
from neuraphage.decide.host_requests import reach_by
from neuraphage.decide.rules.reading import rules_of
from neuraphage.decide.shorten import printable, shorten
from neuraphage.errors import BadInput, SpoolError
from neuraphage.model.attachment import Attachment
from neuraphage.model.effect import EffectClass, EffectState, Marker, MarkerName, ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.rule import Rule
from neuraphage.model.sandbox import NO_HOSTS, HostReach, RefusedHost
from neuraphage.model.tool import ToolCall, ToolDeclaration, ToolResult
from neuraphage.model.tool_traits import RatedKind
from neuraphage.ports import ForeseesRefusal, Tool, ToolContext
from neuraphage.proc.foreign_code import ForeignCodeFailed, foreign_code, of_kind
from neuraphage.runtime.call_locks import ask_for_locks
from neuraphage.runtime.child_place import why_no_child
from neuraphage.runtime.result_guard import judged_result
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_result import note_result
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)


class ToolStep:
    """Runs tool calls for one turn.

    Args:
        services: the ports.
        work: the working copy.
        rules: those of the settings and of the person.
    """

    def __init__(self, services: Services, work: UnitOfWork, rules: Sequence[Rule] = ()) -> None:
        self._rules = rules
        self._services = services
        self._work = work

    def problem(self, call: ToolCall) -> str | None:
        """Why the call cannot be run at all, or None."""
        tool = self._services.tools.get(call.name)
        if tool is None:
            return self._services.tools.why_missing(call.name)
        try:
            with self._work.held.in_foreign_code():
                found = tool.check(call.params)
                return why_no_child(self._services, self._work, call) if found is None else of_kind(found, str)
        except ForeignCodeFailed as failed:  # what cannot be checked is not run
            self.log_failure("check", call, failed)
            kind = type(failed.error).__name__
            return f"The parameters of {call.name} could not be checked, so it was not run: {kind}."

    def refusal(self, call: ToolCall) -> str | None:
        """Why a call that a person would be asked about can only fail as things stand, or None."""
        tool, declaration = self.tool(call)
        context = self.context(call, declaration, 0)
        try:
            with self._work.held.in_foreign_code():
                found = tool.refusal(call.params, context) if isinstance(tool, ForeseesRefusal) else None
                return None if found is None else of_kind(found, str)
        except ForeignCodeFailed as failed:  # the person decides, and the run shows what is wrong
            self.log_failure("refusal", call, failed)
            return None

    def run(
        self, call: ToolCall, *, attempt: int = 0, kept: Mapping[str, Any] | None = None, outside: bool = False
    ) -> None:
        """Announce the call with its evidence, run it, note its result.

        Args:
            call: the call; policy has allowed it.
            attempt: raised when an earlier start of the same call is known not to have run.
            kept: evidence from before an earlier start that had no effect; None takes it now.
            outside: whether its command line runs outside of the sandbox.

        Raises:
            LeaseLost, CancelRequested, StoreUnavailable, Blocked: nothing is noted as its result.
        """
        tool, declaration = self.tool(call)
        context = replace(self.context(call, declaration, attempt), outside_sandbox=outside)
        evidence: dict[str, Any] | None = None
        if kept is not None:
            evidence = dict(kept)
        elif declaration.detached:
            evidence = self._spool_facts()
        elif declaration.effect_class is EffectClass.CHECKABLE:
            evidence = self._prepared(tool, call, context)
            evidence |= as_evidence(context.approved_file)
        self.announce(call, declaration, evidence, attempt, locks=True)
        self.carry_out(tool, call, declaration, context)

    def put_back(self, call: ToolCall, attempt: int, *, keeps_evidence: bool) -> None:
        """Note that a begun call is as if it had not begun; the arguments are those of `PutBack`."""
        entry = self._work.tool_effect(call.tool_use_id)
        if entry is None:
            raise AssertionError(f"a call that was never begun: {call.tool_use_id}")
        evidence = entry.evidence if keeps_evidence else as_evidence(approved_file(entry)) or None
        as_new = {"state": EffectState.PLANNED, "put_back": True, "began": None}
        planned = {**as_new, "attempt": attempt, "evidence": evidence}
        self._work.note(journal=[entry.model_copy(update={**planned, "fence": self._work.held.lease.fence})])

    def note(self, call: ToolCall, result: ToolResult, total_ms: int = 0) -> None:
        """Note the result of a call, which took so long, without secrets and within the tool's limit."""
        declaration = self._services.declarations.get(call.name)
        limit = declaration.output_limit_chars if declaration else 30_000
        result = told_of_edit(result, self._work.tool_effect(call.tool_use_id))
        # in this order: a cut could leave half of a secret, and what stands for one may be longer than it
        text = shorten(self._services.redaction.text(printable(result.text)), limit) or "[no output]"
        refused = tuple(map(self._without_secrets, result.refused))
        clean: dict[str, Any] = {"text": text, "refused": refused, "media": ()}
        try:
            clean["media"] = self._media(result)
        except BadInput as error:  # what a tool would show is over a limit
            clean |= {"text": f"{text}\n[not shown: {error}]", "is_error": True}
        shown = judged_result(self._services, self._work, call, result.model_copy(update=clean), total_ms)
        note_result(self._work, call.tool_use_id, call.name, shown, total_ms)

    def _media(self, result: ToolResult) -> tuple[Attachment, ...]:
        """Images and documents of a result, with names that may be stored.

        Raises:
            BadInput: the task would have too many, or too large ones.
        """
        if not result.media:
            return ()
        shown, redact = tuple(map(checked, result.media)), self._services.redaction.text
        refuse_over(limits_of(self._services.settings), shown, held_sizes(self._work.entries))
        return tuple(one.model_copy(update={"name": redact(one.name)}) for one in shown)

    def _without_secrets(self, refused: RefusedHost) -> RefusedHost:
        """A host as it may be stored: a command can put anything into a name, which nobody is asked about then."""
        host = self._services.redaction.text(refused.host)
        return refused if host == refused.host else refused.model_copy(update={"host": host, "askable": False})

    def reach(self) -> HostReach:
        """What rules and answers say of hosts now."""
        return reach_by((*self._rules, *rules_of(self._work.record.spec.allow)), self._work.grants)

    # --- the steps of a call, also of one that is settled after a recovery ---

    def tool(self, call: ToolCall) -> tuple[Tool, ToolDeclaration]:
        """The tool of a call, and what it promises.

        Raises:
            LookupError: there is none; a bug.
        """
        tool = self._services.tools.get(call.name)
        if tool is None:  # decide never lets an unknown tool this far
            raise LookupError(f"no tool {call.name!r}")
        return tool, self._services.declarations[call.name]

    def context(self, call: ToolCall, declaration: ToolDeclaration, attempt: int) -> ToolContext:
        """What the tool may know of the call; `attempt` as in `run`."""
        record = self._work.record
        name = call_name(call.tool_use_id, record.resets)
        needs_files = declaration.effect_class is EffectClass.CHECKABLE
        return ToolContext(
            task_id=record.task_id,
            effect_id=effect_id(record.task_id, f"{name}#{attempt}" if attempt else name, call.params),
            working_dir=record.spec.working_dir,
            spool=self._services.spool,
            interrupt=self._work.held,
            files_seen=files_seen(self._work.entries) if needs_files else {},
            approved_file=approved_file(self._work.tool_effect(call.tool_use_id)),
            output_limit_chars=declaration.output_limit_chars,
            result_of=partial(result_of, self._work.entries),
            media_of=partial(found_in, self._work.entries),
            redact=self._services.redaction.text,
            reach=self.reach() if declaration.has_way_out else NO_HOSTS,
        )

    def _spool_facts(self) -> dict[str, Any]:
        """Whose spool will know of a command, and since when; empty when it cannot be used, so nobody trusts it."""
        try:
            return {"spool": self._services.spool.identity, "at_ms": self._work.now_ms()}
        except SpoolError as error:
            log.warning("the spool cannot be named: %s", error)
            return {}

    def _prepared(self, tool: Tool, call: ToolCall, context: ToolContext) -> dict[str, Any]:
        try:
            with self._work.held.in_foreign_code():
                facts = of_kind(tool.prepare(call.params, context), dict)
                clean: dict[str, Any] = self._services.redaction.json(facts)
                canonical(clean)  # what cannot be stored shows here
        except ForeignCodeFailed as failed:  # without evidence its probe answers unknown
            self.log_failure("prepare", call, failed)
            return {}
        return clean

    def announce(
        self,
        call: ToolCall,
        declaration: ToolDeclaration,
        evidence: dict[str, Any] | None,
        attempt: int,
        kind: str = EventKind.TOOL_STARTED,
        *,
        locks: bool = False,
    ) -> None:
        """Commit that the call begins, together with all that was noted before it.

        Args:
            call: the call.
            declaration: of its tool.
            evidence: for a later look at what came of it.
            attempt: as in `run`.
            kind: of the event that tells of it.
            locks: whether it takes what it needs, which raises Blocked where another task has that.
        """
        before = self._work.tool_effect(call.tool_use_id)
        digest = sha256_hex(call.params)
        entry = ToolEffect(
            key=call.tool_use_id,
            state=EffectState.STARTED,
            fence=self._work.held.lease.fence,
            attempt=attempt,
            tool=call.name,
            params_hash=digest,
            effect_class=declaration.effect_class,
            version=declaration.version,
            evidence=evidence,
            permission=before.permission if before else None,
            digest=before.digest if before else None,
            edited=before.edited if before else None,
            began=self._began(before, declaration),
            guarded=before.guarded if before else {},
        )
        marker = Marker(name=MarkerName.TOOL_STARTED, tool=call.name, tool_use_id=call.tool_use_id, params_hash=digest)
        if locks:
            ask_for_locks(self._work, self._services.redaction, call, declaration, before)
        told = Event(kind=kind, data={"tool": call.name, "id": call.tool_use_id})
        self._work.note(journal=[entry], marker=marker, events=[told])
        self._work.held.detachable = False
        self._work.begin_effect()

    def _began(self, before: ToolEffect | None, declaration: ToolDeclaration) -> tuple[RatedKind, int] | None:
        """When a call began that counts for a rate: the first time, however often it is begun again."""
        if before is not None and before.began is not None:
            return before.began
        kind = declaration.traits.rated
        return None if kind is None else (kind, self._work.now_ms())

    def hold(self, action: WaitForRate) -> None:
        """Note that a call waits for the rate of its task."""
        call, kind = action.call, action.kind
        before = self._work.tool_effect(call.tool_use_id)
        planned = before or ToolEffect(key=call.tool_use_id, state=EffectState.PLANNED, tool=call.name)
        entry = planned.model_copy(update={"held": (kind, action.most), "fence": self._work.held.lease.fence})
        wait_ms = action.due_ms - self._work.now_ms()
        data = {"tool": call.name, "id": call.tool_use_id, "rate": kind.value, "most": action.most, "wait_ms": wait_ms}
        self._work.note(journal=[entry], events=[Event(kind=EventKind.TOOL_HELD, data=data)])

    def carry_out(self, tool: Tool, call: ToolCall, declaration: ToolDeclaration, context: ToolContext) -> None:
        """Run an announced call and note its result."""
        since_s = self._services.clock.boottime_s()
        try:
            with self.effect_time(declaration), foreign_code():
                result = of_kind(tool.run(call.params, context), ToolResult)
        except ForeignCodeFailed as failed:  # a bug of others is a result for the model, not a crash of the turn
            self.log_failure("run", call, failed)
            result = raised_result(declaration, failed.error)
        self.note(call, result, int((self._services.clock.boottime_s() - since_s) * 1000))

    def log_failure(self, what: str, call: ToolCall, failed: ForeignCodeFailed) -> None:
        """Log what a tool raised in one of its methods."""
        where = {"task": self._work.record.task_id}
        log.error("%s of %s failed", what, call.name, exc_info=failed.error, extra=where)

    @contextmanager
    def effect_time(self, declaration: ToolDeclaration) -> Iterator[None]:
        """While a call's effect runs: its time is bounded, and a shutdown leaves detached work to the next lease."""
        held = self._work.held
        held.detachable = declaration.detached
        held.effect_since_s = self._services.clock.boottime_s()
        try:
            yield
        finally:
            held.effect_since_s = None
            held.detachable = False
