"""A tool call that a former lease had begun: what came of it is found out, and nothing is done twice on a guess."""

from __future__ import annotations

import logging
from typing import Any

from neuraphage.errors import SpoolError
from neuraphage.model.effect import ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.tool import Probe, ProbeVerdict, ToolCall, ToolDeclaration, ToolResult
from neuraphage.ports import SpoolState, SpoolStatus, Tool, ToolContext
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.unit_of_work import UnitOfWork
from neuraphage.tools.command_result import interrupted_result, result_of_status

log = logging.getLogger(__name__)


class InheritedCalls:
    """Settles the begun calls of a claimed turn.

    Args:
        services: the ports.
        work: the working copy.
        step: runs calls.
    """

    def __init__(self, services: Services, work: UnitOfWork, step: ToolStep) -> None:
        self._services = services
        self._work = work
        self._step = step

    def probe(self, call: ToolCall, entry: ToolEffect) -> ToolResult | None:
        """A checkable call of a former lease: look whether it happened; run it if it did not.

        Returns:
            None when a result was noted; else the result to give while the outcome is unknown.
        """
        tool, declaration = self._step.tool(call)
        context = self._step.context(call, declaration, entry.attempt)
        probe = self._probed(tool, call, entry.evidence or {}, context)
        self._note_settled(call, f"probe: {probe.verdict.value}")
        if probe.verdict is ProbeVerdict.HAPPENED:
            self._step.note(call, probe.result or ToolResult(text=f"{call.name} was done before an interruption."))
            return None
        if probe.verdict is ProbeVerdict.NOT_HAPPENED:
            self._step.announce(call, declaration, entry.evidence, entry.attempt)
            self._step.carry_out(tool, call, declaration, context)
            return None
        return ToolResult(
            text=f"{call.name} was interrupted, and what it works on has changed since: it may have been done or "
            "not. Look at the present state before repeating it.",
            is_error=True,
            unknown_outcome=True,
        )

    def ask(self, call: ToolCall, entry: ToolEffect) -> ToolResult | None:
        """An opaque call of a former lease: attach to it, read it, or run it if it is known not to have run.

        Returns:
            None when a result was noted; else the result to give while the outcome is unknown.
        """
        _, declaration = self._step.tool(call)
        if not declaration.spooled:
            return interrupted_result(call.name, "Nothing records whether this tool ran")
        context = self._step.context(call, declaration, entry.attempt)
        try:
            return self._asked(call, declaration, context, entry)
        except SpoolError as error:
            self._note_settled(call, "unknown: the spool could not tell")
            return interrupted_result(
                _named(call, declaration), f"It was started, but its record cannot be used: {error}"
            )

    def _asked(
        self, call: ToolCall, declaration: ToolDeclaration, context: ToolContext, entry: ToolEffect
    ) -> ToolResult | None:
        evidence = entry.evidence or {}
        if evidence.get("spool") != self._services.spool.identity:
            self._note_settled(call, "unknown: started elsewhere")
            known = "It was started on another machine or in a container that is gone, and its record is there"
            return interrupted_result(_named(call, declaration), known)
        state = self._services.spool.seal(context.effect_id)
        if state is SpoolState.RUNNING:
            # a running command that is found again is written down under this lease before it is waited for
            self._step.announce(call, declaration, entry.evidence, entry.attempt, kind=EventKind.TOOL_ATTACHED)
            self._attach(call, declaration, context)
            return None
        if state is SpoolState.DONE:
            self._note_settled(call, "read the result of the command that had ended")
            status = self._services.spool.look(context.effect_id, context.output_limit_chars)
            self._step.note(call, self._status_result(call, declaration, context, status))
            return None
        # a record that is gone by age looks like one that never was; far inside the retention it cannot be gone
        kept_ms = self._services.settings.exec_retention_s * 1000 / 2
        if state is SpoolState.SEALED and self._work.now_ms() - int(evidence.get("at_ms", 0)) < kept_ms:
            self._note_settled(call, "it had not started")
            self._step.run(call, attempt=entry.attempt + 1)
            return None
        status = self._services.spool.look(context.effect_id, context.output_limit_chars)
        self._note_settled(call, f"unknown: the spool says {status.state.value}")
        if state is SpoolState.SEALED:
            return interrupted_result(_named(call, declaration), "It was announced so long ago that its record is gone")
        return result_of_status(status, command=_named(call, declaration), timeout_s=declaration.timeout_s)

    # --- parts ---

    def _probed(self, tool: Tool, call: ToolCall, evidence: dict[str, Any], context: ToolContext) -> Probe:
        try:
            with self._work.held.in_foreign_code():
                return tool.probe(call.params, evidence, context)
        except Exception:  # a third-party tool: it does not tell, and nothing is run again on a guess
            log.exception("probe of %s failed", call.name, extra={"task": context.task_id})
            return Probe(verdict=ProbeVerdict.UNKNOWN)

    def _attach(self, call: ToolCall, declaration: ToolDeclaration, context: ToolContext) -> None:
        held = self._work.held
        held.detachable = True
        held.effect_since_s = self._services.clock.boottime_s()
        try:
            status = self._services.spool.wait(context.effect_id, context.output_limit_chars, held)
        finally:
            held.effect_since_s = None
            held.detachable = False
        self._step.note(call, self._status_result(call, declaration, context, status))

    def _status_result(
        self, call: ToolCall, declaration: ToolDeclaration, context: ToolContext, status: SpoolStatus
    ) -> ToolResult:
        timeout_s = declaration.timeout_s if status.timeout_s is None else status.timeout_s
        return result_of_status(
            status,
            command=_named(call, declaration),
            timeout_s=timeout_s,
            output_limit_chars=context.output_limit_chars,
        )

    def _note_settled(self, call: ToolCall, how: str) -> None:
        data = {"tool": call.name, "id": call.tool_use_id, "how": how}
        self._work.note(events=[Event(kind=EventKind.TOOL_SETTLED, data=data)])


def _named(call: ToolCall, declaration: ToolDeclaration) -> str:
    """The command line of a call that has one, else the tool."""
    return str(call.params.get(declaration.traits.command or "", call.name))
