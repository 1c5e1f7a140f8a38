"""One tool call: run it afresh, or settle one that a former lease had started."""

from __future__ import annotations

import logging
from typing import Any

from neuraphage.decide.files_seen import files_seen
from neuraphage.decide.hashing import call_name, canonical, effect_id, sha256_hex
from neuraphage.errors import SpoolError
from neuraphage.model.effect import EffectClass, EffectKind, EffectState, JournalEntry, Marker, MarkerName
from neuraphage.model.event import Event, EventKind
from neuraphage.model.tool import Probe, ProbeVerdict, ToolCall, ToolDeclaration, ToolResult
from neuraphage.ports import ForeseesRefusal, SpoolState, SpoolStatus, Tool, ToolContext
from neuraphage.runtime.approved_file import approved_file, as_evidence, to_be_approved
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_result import note_result
from neuraphage.runtime.unit_of_work import UnitOfWork
from neuraphage.tools.command_result import interrupted_result, result_of_status
from neuraphage.tools.shorten import printable, shorten

log = logging.getLogger(__name__)


class ToolStep:
    """Runs tool calls for one turn.

    Args:
        services: the ports.
        work: the working copy.
    """

    def __init__(self, services: Services, work: UnitOfWork) -> None:
        self._services = services
        self._work = work

    def problem(self, call: ToolCall) -> str | None:
        """Why the call cannot be run at all, or None."""
        tool = self._services.tools.get(call.name)
        if tool is None:
            names = ", ".join(self._services.declarations)
            return f"There is no tool {call.name!r}. The tools are: {names}."
        try:
            with self._work.held.in_foreign_code():
                return tool.check(call.params)
        except Exception as error:  # a third-party tool: what cannot be checked is not run
            log.exception("check of %s failed", call.name, extra={"task": self._work.record.task_id})
            return f"The parameters of {call.name} could not be checked, so it was not run: {type(error).__name__}."

    def refusal(self, call: ToolCall) -> str | None:
        """Why a call that a person would be asked about can only fail as things stand, or None."""
        tool, declaration = self._tool(call)
        if not isinstance(tool, ForeseesRefusal):
            return None
        try:
            return tool.refusal(call.params, self._context(call, declaration, 0))
        except Exception:  # a third-party tool: the person decides, and the run shows what is wrong
            log.exception("refusal of %s failed", call.name, extra={"task": self._work.record.task_id})
            return None

    def to_be_approved(self, call: ToolCall) -> dict[str, Any] | None:
        """Evidence for the journal of a call that a person is asked about: its file as it is now. None without one."""
        return to_be_approved(call, self._context(call, self._tool(call)[1], 0))

    def run(self, call: ToolCall, *, attempt: int = 0) -> None:
        """Announce the call with its evidence, run it, note its result.

        Args:
            call: the call; policy has allowed it.
            attempt: raised when an earlier start of the same call is known not to have run.

        Raises:
            LeaseLost, CancelRequested, StoreUnavailable: nothing is noted as its result.
        """
        tool, declaration = self._tool(call)
        context = self._context(call, declaration, attempt)
        evidence: dict[str, Any] | None = None
        if declaration.spooled:
            evidence = self._spool_facts()
        elif declaration.effect_class is EffectClass.CHECKABLE:
            evidence = self._prepared(tool, call, context)
            evidence |= as_evidence(context.approved_file)
        self._announce(call, declaration, evidence, attempt)
        self._carry_out(tool, call, declaration, context)

    def settle_pure(self, call: ToolCall, entry: JournalEntry) -> None:
        """A pure or keyed call of a former lease: run it again (keyed: under the same effect id)."""
        self.run(call, attempt=entry.attempt)

    def probe(self, call: ToolCall, entry: JournalEntry) -> ToolResult | None:
        """A checkable call of a former lease: look whether it happened; run it if it did not.

        Returns:
            None when a result was noted; else the result to give while the outcome is unknown.
        """
        tool, declaration = self._tool(call)
        context = self._context(call, declaration, entry.attempt)
        probe = self._probed(tool, call, entry.evidence or {}, context)
        self._note_settled(call, f"probe: {probe.verdict.value}")
        if probe.verdict is ProbeVerdict.HAPPENED:
            self.note(call, probe.result or ToolResult(text=f"{call.name} was done before an interruption."))
            return None
        if probe.verdict is ProbeVerdict.NOT_HAPPENED:
            self._announce(call, declaration, entry.evidence, entry.attempt)
            self._carry_out(tool, call, declaration, context)
            return None
        return ToolResult(
            text=f"{call.name} was interrupted, and what it works on has changed since: it may have been done or "
            "not. Look at the present state before repeating it.",
            is_error=True,
            unknown_outcome=True,
        )

    def ask_spool(self, call: ToolCall, entry: JournalEntry) -> ToolResult | None:
        """An opaque call of a former lease: attach to it, read it, or run it if it is known not to have run.

        Returns:
            None when a result was noted; else the result to give while the outcome is unknown.
        """
        _, declaration = self._tool(call)
        if not declaration.spooled:
            return interrupted_result(call.name, "Nothing records whether this tool ran")
        context = self._context(call, declaration, entry.attempt)
        try:
            return self._asked(call, declaration, context, entry)
        except SpoolError as error:
            self._note_settled(call, "unknown: the spool could not tell")
            return interrupted_result(_command(call), f"It was started, but its record cannot be used: {error}")

    def _asked(
        self, call: ToolCall, declaration: ToolDeclaration, context: ToolContext, entry: JournalEntry
    ) -> ToolResult | None:
        evidence = entry.evidence or {}
        if evidence.get("spool") != self._services.spool.identity:
            self._note_settled(call, "unknown: started elsewhere")
            known = "It was started on another machine or in a container that is gone, and its record is there"
            return interrupted_result(_command(call), known)
        state = self._services.spool.seal(context.effect_id)
        if state is SpoolState.RUNNING:
            # a running command that is found again is written down under this lease before it is waited for
            self._announce(call, declaration, entry.evidence, entry.attempt, kind=EventKind.TOOL_ATTACHED)
            self._attach(call, declaration, context)
            return None
        if state is SpoolState.DONE:
            self._note_settled(call, "read the result of the command that had ended")
            status = self._services.spool.look(context.effect_id, context.output_limit_chars)
            self.note(call, self._status_result(call, declaration, context, status))
            return None
        # a record that is gone by age looks like one that never was; far inside the retention it cannot be gone
        kept_ms = self._services.settings.exec_retention_s * 1000 / 2
        if state is SpoolState.SEALED and self._work.now_ms() - int(evidence.get("at_ms", 0)) < kept_ms:
            self._note_settled(call, "it had not started")
            self.run(call, attempt=entry.attempt + 1)
            return None
        status = self._services.spool.look(context.effect_id, context.output_limit_chars)
        self._note_settled(call, f"unknown: the spool says {status.state.value}")
        if state is SpoolState.SEALED:
            return interrupted_result(_command(call), "It was announced so long ago that its record is gone")
        return result_of_status(status, command=_command(call), timeout_s=declaration.timeout_s)

    def note(self, call: ToolCall, result: ToolResult) -> None:
        """Note the result of a call, without secrets and within the tool's limit."""
        declaration = self._services.declarations.get(call.name)
        limit = declaration.output_limit_chars if declaration else 30_000
        # in this order: a cut could leave half of a secret, and what stands for one may be longer than it
        text = shorten(self._services.redaction.text(printable(result.text)), limit) or "[no output]"
        note_result(self._work, call.tool_use_id, call.name, result.model_copy(update={"text": text}))

    # --- parts ---

    def _tool(self, call: ToolCall) -> tuple[Tool, ToolDeclaration]:
        tool = self._services.tools.get(call.name)
        if tool is None:  # decide never lets an unknown tool this far
            raise LookupError(f"no tool {call.name!r}")
        return tool, tool.declaration

    def _context(self, call: ToolCall, declaration: ToolDeclaration, attempt: int) -> ToolContext:
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
            approved_file=approved_file(self._work.journal.get(call.tool_use_id)),
            output_limit_chars=declaration.output_limit_chars,
            redact=self._services.redaction.text,
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
                clean: dict[str, Any] = self._services.redaction.json(tool.prepare(call.params, context))
                canonical(clean)  # what cannot be stored shows here
        except Exception:  # a third-party tool: without evidence its probe answers unknown
            log.exception("prepare of %s failed", call.name, extra={"task": context.task_id})
            return {}
        return clean

    def _probed(self, tool: Tool, call: ToolCall, evidence: dict[str, Any], context: ToolContext) -> Probe:
        try:
            with self._work.held.in_foreign_code():
                return tool.probe(call.params, evidence, context)
        except Exception:  # a third-party tool: it does not tell, and nothing is run again on a guess
            log.exception("probe of %s failed", call.name, extra={"task": context.task_id})
            return Probe(verdict=ProbeVerdict.UNKNOWN)

    def _announce(
        self,
        call: ToolCall,
        declaration: ToolDeclaration,
        evidence: dict[str, Any] | None,
        attempt: int,
        kind: str = EventKind.TOOL_STARTED,
    ) -> None:
        before = self._work.journal.get(call.tool_use_id)
        digest = sha256_hex(call.params)
        entry = JournalEntry(
            key=call.tool_use_id,
            kind=EffectKind.TOOL,
            state=EffectState.STARTED,
            fence=self._work.held.lease.fence,
            attempt=attempt,
            tool=call.name,
            params_hash=digest,
            effect_class=declaration.effect_class,
            evidence=evidence,
            permission=before.permission if before else None,
        )
        marker = Marker(name=MarkerName.TOOL_STARTED, tool=call.name, tool_use_id=call.tool_use_id, params_hash=digest)
        data = {"tool": call.name, "id": call.tool_use_id}
        self._work.note(journal=[entry], marker=marker, events=[Event(kind=kind, data=data)])
        self._work.held.detachable = False
        self._work.begin_effect()

    def _carry_out(self, tool: Tool, call: ToolCall, declaration: ToolDeclaration, context: ToolContext) -> None:
        held = self._work.held
        held.detachable = declaration.spooled and self._services.settings.spool_enabled
        held.effect_since_s = self._services.clock.boottime_s()
        try:
            result = _result(tool.run(call.params, context))
        except Exception as error:  # a third-party tool's bug is a result for the model, not a crash of the turn
            log.exception("tool %s failed", call.name, extra={"task": context.task_id})
            result = ToolResult(text=f"{call.name} failed: {type(error).__name__}: {error}", is_error=True)
        finally:
            held.effect_since_s = None
            held.detachable = False
        self.note(call, result)

    def _attach(self, call: ToolCall, declaration: ToolDeclaration, context: ToolContext) -> None:
        held = self._work.held
        held.detachable = True
        held.effect_since_s = self._services.clock.boottime_s()
        try:
            status = self._services.spool.wait(context.effect_id, context.output_limit_chars, held)
        finally:
            held.effect_since_s = None
            held.detachable = False
        self.note(call, self._status_result(call, declaration, context, status))

    def _status_result(
        self, call: ToolCall, declaration: ToolDeclaration, context: ToolContext, status: SpoolStatus
    ) -> ToolResult:
        timeout_s = declaration.timeout_s if status.timeout_s is None else status.timeout_s
        return result_of_status(
            status,
            command=_command(call),
            timeout_s=timeout_s,
            output_limit_chars=context.output_limit_chars,
        )

    def _note_settled(self, call: ToolCall, how: str) -> None:
        data = {"tool": call.name, "id": call.tool_use_id, "how": how}
        self._work.note(events=[Event(kind=EventKind.TOOL_SETTLED, data=data)])


def _result(returned: object) -> ToolResult:
    if not isinstance(returned, ToolResult):
        raise TypeError(f"it returned {type(returned).__name__}, not a ToolResult")
    return returned


def _command(call: ToolCall) -> str:
    return str(call.params.get("command", call.name))
