"""What the tools of this room share: parameters as a pydantic model, failures as results, the output limit."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from neuraphage.decide.shorten import printable, shorten
from neuraphage.model.tool import Probe, ProbeVerdict, ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.working_dir import working_dir_report

_MAX_COMPLAINTS = 3


class ToolCallError(Exception):
    """A call failed in a foreseen way; the text is what the model reads."""


def _storable(value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"character {error.start} is half of a surrogate pair; send whole characters") from error
    return value


def no_nul(value: str) -> str:
    """Refuse text with a NUL character, which no path or command can hold."""
    if "\0" in value:
        raise ValueError("contains a NUL character; no path or command can hold one: send it without")
    return value


Text = Annotated[str, AfterValidator(_storable)]
"""Text that can be stored as UTF-8."""

PathText = Annotated[Text, AfterValidator(no_nul), Field(min_length=1, max_length=4_096)]
"""A path, relative to the working directory or absolute inside it."""


class Params(BaseModel):
    """Base of every tool's parameters: unknown names are refused, so that a misspelt one is seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


P = TypeVar("P", bound=Params)


class ParsedTool(ABC, Generic[P]):
    """A tool whose parameters are parsed and whose failures become results.

    A subclass sets `params_model` and `declaration` and implements `carry_out`; a checkable one also
    `facts_before` and `look_after`.
    """

    params_model: type[P]

    def __init__(self, declaration: ToolDeclaration) -> None:
        self._declaration = declaration

    @property
    def declaration(self) -> ToolDeclaration:
        """Name, schema, effect class, limits."""
        return self._declaration

    def check(self, params: Mapping[str, Any]) -> str | None:
        """Validate parameters.

        Returns:
            None when they fit, else one sentence for the model.
        """
        try:
            self._parse(params)
        except ToolCallError as error:
            return str(error)
        return None

    def prepare(self, params: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """Read what a later probe needs. Empty when the call is going to fail anyway."""
        try:
            return self.facts_before(self._parse(params), context)
        except (ToolCallError, OSError):
            return {}

    def run(self, params: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Carry the call out. Failures are results with is_error, not exceptions.

        Raises:
            CancelRequested, LeaseLost: from the interrupt.
        """
        context.interrupt.check()
        try:
            result = self.carry_out(self._parse(params), context)
        except ToolCallError as error:
            result = ToolResult(text=str(error), is_error=True)
        except OSError as error:  # one that the tool did not foresee: still an answer, and no fault of the turn
            why = error.strerror or type(error).__name__
            text = f"{self.declaration.name} failed: {why}. Look at the present state before you try again."
            result = ToolResult(text=text, is_error=True)
        if result.is_error and context.working_dir is not None:
            result = _told_of_its_place(result, context.working_dir)
        limit_chars = min(context.output_limit_chars, self.declaration.output_limit_chars)
        return result.model_copy(update={"text": shorten(context.redact(printable(result.text)), limit_chars)})

    def probe(self, params: Mapping[str, Any], evidence: Mapping[str, Any], context: ToolContext) -> Probe:
        """Look whether an interrupted call happened; UNKNOWN when the world does not tell."""
        try:
            return self.look_after(self._parse(params), evidence, context)
        except (ToolCallError, OSError):
            return Probe(verdict=ProbeVerdict.UNKNOWN)

    @abstractmethod
    def carry_out(self, params: P, context: ToolContext) -> ToolResult:
        """Do the work.

        Raises:
            ToolCallError: it failed in a foreseen way.
        """

    def facts_before(self, params: P, context: ToolContext) -> dict[str, Any]:  # noqa: ARG002 - a hook
        """Facts for `look_after`; none by default."""
        return {}

    def look_after(self, params: P, evidence: Mapping[str, Any], context: ToolContext) -> Probe:  # noqa: ARG002 - a hook
        """Verdict on an interrupted call; UNKNOWN by default."""
        return Probe(verdict=ProbeVerdict.UNKNOWN)

    def _parse(self, params: Mapping[str, Any]) -> P:
        try:
            return self.params_model.model_validate(dict(params))
        except ValidationError as error:
            # The input itself is not repeated: it may be large, or hold what should not be stored.
            found = [
                f"{'.'.join(map(str, one['loc'])) or 'parameters'}: {_complaint(one['msg'])}"
                for one in error.errors(include_input=False, include_url=False)[:_MAX_COMPLAINTS]
            ]
            name = self.declaration.name
            raise ToolCallError(
                f"The parameters of {name} do not fit: {'; '.join(found)}. Call it again with these corrected."
            ) from error


def _told_of_its_place(result: ToolResult, working_dir: str) -> ToolResult:
    """A failure for the reason that the working directory went says so, whatever the call itself has met."""
    report = working_dir_report(working_dir)
    if report is None or report in result.text:
        return result
    return result.model_copy(update={"text": f"{result.text}\n{report}"})


def _complaint(message: str) -> str:
    """Pydantic counts the length of validated text in items; people and models count characters."""
    return re.sub(r"^Value should have (at \w+ \d+) items?", r"Value should have \1 characters", message)


@cache
def input_schema(params_model: type[Params]) -> dict[str, Any]:
    """JSON schema of a tool's parameters, without the noise that pydantic adds for people. Not to be changed."""
    schema: dict[str, Any] = plain_schema(params_model.model_json_schema())
    return schema


def plain_schema(node: Any) -> Any:
    """A schema without generated titles and the base docstring, an optional value spelt as its type alone."""
    if isinstance(node, list):
        return [plain_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: plain_schema(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))}
    if "properties" in kept:
        kept.pop("description", None)
    choices = [choice for choice in kept.get("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        kept.pop("anyOf")
        if kept.get("default", ...) is None:
            kept.pop("default")
        kept = choices[0] | kept
    return kept
