"""ask_user, complete_task and fail_task: declared here, carried out by the turn itself."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from neuraphage.decide.blank import is_blank
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ControlKind, ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.base import P, Params, ParsedTool, Text, ToolCallError, input_schema
from neuraphage.tools.builtin_traits import BUILTIN_TRAITS

_TIMEOUT_S = 10.0


def _said(value: str) -> str:
    if is_blank(value):
        raise ValueError("it is blank; say it in words")
    return value


_Said = Annotated[Text, AfterValidator(_said)]
"""Text that a person is to read."""


class AskUserParams(Params):
    """Parameters of ask_user."""

    question: Annotated[_Said, Field(min_length=1, max_length=20_000, description="What the person should read.")]
    options: Annotated[
        tuple[Annotated[Text, Field(min_length=1, max_length=1_000)], ...],
        Field(max_length=20, description="Answers to choose from; leave out for free text."),
    ] = ()


class CompleteTaskParams(Params):
    """Parameters of complete_task."""

    summary: Annotated[
        _Said, Field(min_length=1, max_length=100_000, description="What was done and how it was checked.")
    ]


class FailTaskParams(Params):
    """Parameters of fail_task."""

    reason: Annotated[
        _Said, Field(min_length=1, max_length=100_000, description="What was tried and what stands in the way.")
    ]


class ControlTool(ParsedTool[P]):
    """A tool that only checks its parameters; the turn does the rest."""

    def __init__(self, kind: ControlKind, description: str, params_model: type[P]) -> None:
        self.params_model = params_model
        super().__init__(
            ToolDeclaration(
                name=kind.value,
                description=description,
                input_schema=input_schema(params_model),
                effect_class=EffectClass.PURE,
                side_effecting=False,
                timeout_s=_TIMEOUT_S,
                control=kind,
                traits=BUILTIN_TRAITS[kind.value],
            )
        )

    def carry_out(self, params: P, context: ToolContext) -> ToolResult:  # noqa: ARG002 - the base's shape
        """Never done here: a mistake of the caller, said plainly."""
        raise ToolCallError(f"{self.declaration.name} is carried out by the turn, not by the tool. Nothing was done.")


def ask_user() -> ControlTool[AskUserParams]:
    """Ask a person and wait for the answer."""
    return ControlTool(
        ControlKind.ASK_USER,
        "Ask the user a question and wait for the answer. Use it when only the user can decide.",
        AskUserParams,
    )


def complete_task() -> ControlTool[CompleteTaskParams]:
    """End the task as completed."""
    return ControlTool(
        ControlKind.COMPLETE_TASK, "End the task: it is done. Call it alone and last.", CompleteTaskParams
    )


def fail_task() -> ControlTool[FailTaskParams]:
    """End the task as failed."""
    return ControlTool(
        ControlKind.FAIL_TASK,
        "End the task: it cannot be done. Call it alone and last, with the reason.",
        FailTaskParams,
    )
