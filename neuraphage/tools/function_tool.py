"""A tool that calls a typed function: its signature is the schema of the parameters, its docstring the description."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import to_json

from neuraphage.decide.attachments import label
from neuraphage.decide.given_result import raised_result
from neuraphage.errors import CancelRequested, LeaseLost
from neuraphage.model.attachment import Attachment
from neuraphage.model.tool import Probe, ProbeVerdict, ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.base import Params, ParsedTool, ToolCallError
from neuraphage.tools.function_params import Signature, accepted, check_names

log = logging.getLogger(__name__)

_VERDICTS = {True: ProbeVerdict.HAPPENED, False: ProbeVerdict.NOT_HAPPENED, None: ProbeVerdict.UNKNOWN}


class FunctionTool(ParsedTool[Params]):
    """A tool that calls a function; made by `tool`.

    Args:
        function: carries a call out.
        signature: of the function.
        declaration: what the tool promises.
    """

    def __init__(self, function: Callable[..., Any], signature: Signature, declaration: ToolDeclaration) -> None:
        super().__init__(declaration)
        self.function = function
        self.params_model = signature.model
        self._signature = signature
        self._prepare: Callable[..., Any] | None = None
        self._probe: Callable[..., Any] | None = None
        self._count: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as its own tests do."""
        return self.function(*args, **kwargs)

    # --- the functions beside it ---

    def prepare_with(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate what reads (never changes) the facts that the probe needs; it returns a dict of plain JSON."""
        check_names(function, self._signature, "what prepares a call")
        self._prepare = function
        return function

    def probe_with(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate what tells whether an interrupted call happened: True, False, None for unknown, or a Probe."""
        check_names(function, self._signature, "a probe")
        self._probe = function
        return function

    def count_with(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate what counts the effects that the world has of a call: `tools check` asks it, nothing else does."""
        check_names(function, self._signature, "what counts effects")
        self._count = function
        return function

    @property
    def has_probe(self) -> bool:
        """Whether it can be asked if an interrupted call happened."""
        return self._probe is not None

    def count_effects(self, params: Mapping[str, Any], context: ToolContext) -> int | None:
        """How many effects of this call the world has; None when nothing counts them."""
        return None if self._count is None else int(self._given(self._count, self._parse(params), context))

    # --- the port ---

    def carry_out(self, params: Params, context: ToolContext) -> ToolResult:
        """Call the function; what it raises is a result, see `raised_result`."""
        arguments = self._signature.arguments(params, context)
        try:
            returned = self._awaited(self.function(**arguments), context)
        except (ToolCallError, CancelRequested, LeaseLost):
            raise
        except Exception as error:  # whatever it is, the model is told of it
            log.exception("tool %s failed", self.declaration.name, extra={"task": context.task_id})
            return raised_result(self.declaration, error)
        return self._as_result(returned)

    def facts_before(self, params: Params, context: ToolContext) -> dict[str, Any]:
        """What the function of `prepare_with` reads."""
        return {} if self._prepare is None else dict(self._given(self._prepare, params, context))

    def look_after(self, params: Params, evidence: Mapping[str, Any], context: ToolContext) -> Probe:
        """What the function of `probe_with` says."""
        if self._probe is None:
            return Probe(verdict=ProbeVerdict.UNKNOWN)
        said = self._given(self._probe, params, context, evidence)
        if isinstance(said, Probe):
            return said
        if said is not None and not isinstance(said, bool):
            raise TypeError(f"a probe answers True, False, None or a Probe, and this answered {said!r:.100}")
        return Probe(verdict=_VERDICTS[said])

    def _given(
        self,
        function: Callable[..., Any],
        params: Params,
        context: ToolContext,
        evidence: Mapping[str, Any] | None = None,
    ) -> Any:
        given = {**self._signature.arguments(params, context), self._signature.context or "context": context}
        named = accepted(function, given | ({} if evidence is None else {"evidence": dict(evidence)}))
        return self._awaited(function(**named), context)

    def _awaited(self, called: Any, context: ToolContext) -> Any:
        """What a call comes to: a coroutine is run to its end, within the tool's time."""
        if inspect.iscoroutine(called):
            from neuraphage.tools.function_async import run_coroutine  # noqa: PLC0415 - asyncio, which few tools need

            return run_coroutine(called, context.interrupt, self.declaration.timeout_s)
        return called

    def _as_result(self, returned: Any) -> ToolResult:
        """What the function returned, as the model reads it: text and attachments as they are, all else as JSON."""
        if isinstance(returned, ToolResult):
            return returned
        parts = returned if isinstance(returned, list | tuple) else [returned]
        shown = tuple(one for one in parts if isinstance(one, Attachment))
        if shown and all(isinstance(one, str | Attachment) for one in parts):
            text = "\n".join(one if isinstance(one, str) else label(one) for one in parts)
            return ToolResult(text=text, media=shown)
        if returned is None:
            return ToolResult(text="Done.")
        try:
            return ToolResult(text=returned if isinstance(returned, str) else to_json(returned).decode())
        except ValueError:
            error = TypeError(f"it returned {type(returned).__name__}, which is no text and no JSON")
            return raised_result(self.declaration, error)
