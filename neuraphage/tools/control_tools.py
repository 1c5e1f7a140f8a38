"""ask_user, subtasks and the end of the task: tools that are declared here and carried out by the turn itself."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from neuraphage.decide.blank import is_blank
from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ControlKind, ToolDeclaration, ToolResult
from neuraphage.ports import ToolContext
from neuraphage.tools.base import P, Params, ParsedTool, PathText, Text, ToolCallError, input_schema
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


_Short = Annotated[_Said, Field(min_length=1, max_length=200)]


class SpawnTaskParams(Params):
    """Parameters of spawn_task."""

    prompt: Annotated[
        _Said, Field(min_length=1, max_length=100_000, description="All that it needs to know: it sees nothing else.")
    ]
    name: Annotated[_Short | None, Field(description="One line for people.")] = None
    working_dir: Annotated[PathText | None, Field(description="Inside your working directory; else the same.")] = None
    model: Annotated[_Short | None, Field(description="Tier of models, as cheap, worker or expert; else yours.")] = None
    max_turns: Annotated[int | None, Field(ge=1, le=10_000, description="At most yours.")] = None
    max_cost_usd: Annotated[float | None, Field(gt=0, le=10_000, description="Of what you have left.")] = None
    wait: Annotated[bool, Field(description="false: do not wait for its result; wait_for_tasks does later.")] = True
    on_parent_end: Annotated[
        Literal["cancel", "orphan"] | None, Field(description="When you end: cancel it (usual), or orphan: it goes on.")
    ] = None


class WaitForTasksParams(Params):
    """Parameters of wait_for_tasks."""

    tasks: Annotated[
        tuple[Annotated[Text, Field(min_length=1, max_length=100)], ...],
        Field(max_length=1_000, description="Their ids; leave out for all of yours."),
    ] = ()
    until: Annotated[Literal["all", "any"], Field(description="any: until one of them is over.")] = "all"


class ControlTool(ParsedTool[P]):
    """A tool that only checks its parameters; the turn does the rest."""

    def __init__(
        self, kind: ControlKind, description: str, params_model: type[P], *, side_effecting: bool = False
    ) -> None:
        self.params_model = params_model
        super().__init__(
            ToolDeclaration(
                name=kind.value,
                description=description,
                input_schema=input_schema(params_model),
                effect_class=EffectClass.PURE,
                side_effecting=side_effecting,
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


def spawn_task() -> ControlTool[SpawnTaskParams]:
    """Make another task."""
    return ControlTool(
        ControlKind.SPAWN_TASK,
        "Make a subtask: another agent with a conversation of its own. Several calls in one reply work at the same"
        " time. The result is its summary, the files it wrote and its cost, which comes out of your money.",
        SpawnTaskParams,
        side_effecting=True,
    )


def wait_for_tasks() -> ControlTool[WaitForTasksParams]:
    """Wait for tasks that were made without waiting."""
    return ControlTool(
        ControlKind.WAIT_FOR_TASKS,
        "Wait for subtasks that were made with wait=false, and get their results.",
        WaitForTasksParams,
    )
