"""A tool call that a former lease had begun: what came of it is found out, before anything is decided about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

from neuraphage.decide.begun_call import Finding, Found, of_detached, of_probe
from neuraphage.decide.given_result import interrupted_result
from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.model.effect import ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.tool import Probe, ProbeVerdict, ToolCall, ToolDeclaration, ToolResult
from neuraphage.ports import Accompanies, DetachedTool, SpoolStatus, Tool, ToolContext
from neuraphage.proc.foreign_code import ForeignCodeFailed, foreign_code, of_kind
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.unit_of_work import UnitOfWork

_ELSEWHERE = "It was started on another machine or in a container that is gone, and its record is there"
_EXPIRED = "It was announced so long ago that its record is gone"


class BegunCalls:
    """Finds out what came of the begun calls of a claimed turn. Nothing is run here.

    Args:
        services: the ports.
        work: the working copy.
        step: runs calls.
    """

    def __init__(self, services: Services, work: UnitOfWork, step: ToolStep) -> None:
        self._services = services
        self._work = work
        self._step = step

    def probe(self, call: ToolCall, entry: ToolEffect) -> Found:
        """Look whether a checkable call happened."""
        tool, declaration = self._step.tool(call)
        context = self._step.context(call, declaration, entry.attempt)
        try:
            with self._work.held.in_foreign_code():
                probe = of_kind(tool.probe(call.params, entry.evidence or {}, context), Probe)
        except ForeignCodeFailed as failed:  # it does not tell, and nothing is run again on a guess
            self._step.log_failure("probe", call, failed)
            probe = Probe(verdict=ProbeVerdict.UNKNOWN)
        self._note_settled(call, f"probe: {probe.verdict.value}")
        return of_probe(call, probe)

    def ask(self, call: ToolCall, entry: ToolEffect) -> Found:
        """Ask for what became of detached work. What had not started is sealed: it never will."""
        tool, declaration = self._step.tool(call)
        if not declaration.detached:
            return _unknown(call.name, "Nothing records whether this tool ran")
        context = self._step.context(call, declaration, entry.attempt)
        named, evidence = _named(call, declaration), entry.evidence or {}
        try:
            if evidence.get("spool") != self._services.spool.identity:
                self._note_settled(call, "unknown: started elsewhere")
                return _unknown(named, _ELSEWHERE)
            state = self._services.spool.seal(context.effect_id)
            age_ms = self._work.now_ms() - int(evidence.get("at_ms", 0))
            finding = of_detached(state, age_ms, self._services.settings.exec_retention_s)
            if finding in {Finding.RUNNING, Finding.SEALED}:
                if finding is Finding.SEALED:
                    self._note_settled(call, "it had not started")
                return Found(finding)
            status = self._services.spool.look(context.effect_id, context.output_limit_chars)
        except SpoolError as error:
            self._note_settled(call, "unknown: the spool could not tell")
            return _unknown(named, f"It was started, but its record cannot be used: {error}")
        if finding is Finding.ENDED and status.state is DetachedState.DONE:
            self._note_settled(call, "read the result of the command that had ended")
        else:
            self._note_settled(call, f"unknown: the spool says {status.state.value}")
        if state is DetachedState.SEALED:
            return _unknown(named, _EXPIRED)
        return _found(self._result(tool, call, status, context))

    def attach(self, call: ToolCall, entry: ToolEffect) -> Found | None:
        """Wait for detached work that goes on, and note its result.

        It is announced first: what is found again is written down under this lease before it is waited for.

        Returns:
            None when a result was noted; else what is known of it now.

        Raises:
            LeaseLost, CancelRequested, StoreUnavailable: nothing is noted as its result.
        """
        tool, declaration = self._step.tool(call)
        context = self._step.context(call, declaration, entry.attempt)
        self._step.announce(call, declaration, entry.evidence, entry.attempt, kind=EventKind.TOOL_ATTACHED)
        try:
            with self._step.effect_time(declaration), self._accompanied(tool, call, context):
                status = self._services.spool.wait(context.effect_id, context.output_limit_chars, self._work.held)
        except SpoolError as error:
            self._note_settled(call, "unknown: the spool could not tell")
            known = f"It was started, but its record cannot be used: {error}"
            return _unknown(_named(call, declaration), known)
        self._step.note(call, self._result(tool, call, status, context))
        return None

    # --- parts ---

    @contextmanager
    def _accompanied(self, tool: Tool, call: ToolCall, context: ToolContext) -> Iterator[None]:
        """Give the work what it needs of a process that waits; it goes on without where that fails."""
        with ExitStack() as around:
            if isinstance(tool, Accompanies):
                try:
                    with foreign_code():
                        around.enter_context(tool.accompanied(context))
                except ForeignCodeFailed as failed:
                    self._step.log_failure("accompanied", call, failed)
            yield

    def _result(self, tool: Tool, call: ToolCall, status: SpoolStatus, context: ToolContext) -> ToolResult:
        reads = cast("DetachedTool", tool)  # one that only says so of itself is told of below
        try:
            with self._work.held.in_foreign_code():
                return of_kind(reads.detached_result(call.params, status, context), ToolResult)
        except ForeignCodeFailed as failed:  # the work has run, and nobody can tell what came of it
            self._step.log_failure("detached_result", call, failed)
        known = f"Its work is {status.state.value}, and the tool cannot read what it came to"
        return interrupted_result(call.name, known)

    def _note_settled(self, call: ToolCall, how: str) -> None:
        data: dict[str, Any] = {"tool": call.name, "id": call.tool_use_id, "how": how}
        self._work.note(events=[Event(kind=EventKind.TOOL_SETTLED, data=data)])


def _unknown(named: str, known: str) -> Found:
    return Found(Finding.UNKNOWN, interrupted_result(named, known))


def _found(result: ToolResult) -> Found:
    return Found(Finding.UNKNOWN if result.unknown_outcome else Finding.ENDED, result)


def _named(call: ToolCall, declaration: ToolDeclaration) -> str:
    """The command line of a call that has one, else the tool."""
    return str(call.params.get(declaration.traits.command or "", call.name))
