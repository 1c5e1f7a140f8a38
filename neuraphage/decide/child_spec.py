"""What a child is given by its parent: no more than that has itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuraphage.decide.limits import dollars, spent_microusd
from neuraphage.decide.tiers import resolved
from neuraphage.errors import BadInput
from neuraphage.model.limits import Limits
from neuraphage.model.subtask import OnParentEnd
from neuraphage.model.task import Mode, TaskRecord, TaskSpec

NAME_CHARS = 80
_MICROUSD = 1_000_000


def rest_microusd(record: TaskRecord) -> int:
    """Money that a task may still spend, with all that it has made."""
    return max(0, record.limits.max_cost_microusd - spent_microusd(record))


def spawn_problem(
    record: TaskRecord,
    params: Mapping[str, Any],
    *,
    made: int,
    max_depth: int,
    max_children: int,
    tiers: Mapping[str, Sequence[str]],
) -> str | None:
    """Why a task may not make a child, as a sentence for the model; None where it may.

    Args:
        record: the task.
        params: of the call, checked by the tool.
        made: children that it has made, with those that calls of the same reply make before.
        max_depth, max_children: the settings max_task_depth and max_children.
        tiers: names for models.
    """
    if record.spec.depth >= max_depth:
        above = record.spec.depth
        return f"This task has {above} tasks above it, and max_task_depth allows {max_depth}: do the work here."
    if made >= max_children:
        return f"This task has made {made} subtasks, as many as max_children allows. Do what is left here."
    if rest_microusd(record) <= 0:
        return "The money of this task is used up, so a subtask could do nothing."
    wanted = params.get("max_cost_usd")
    if wanted is not None and round(wanted * _MICROUSD) > rest_microusd(record):
        return (
            f"max_cost_usd is {wanted:g}; only ${dollars(rest_microusd(record))} are left. Give less, or leave it out."
        )
    model = params.get("model")
    if model is not None and model not in tiers:
        return f"There is no tier {model!r}. The tiers are: {', '.join(tiers)}. Leave it out to use your own model."
    return None


def child_spec(
    record: TaskRecord,
    params: Mapping[str, Any],
    task_id: str,
    *,
    working_dir: str | None,
    tiers: Mapping[str, Sequence[str]],
    now_ms: int,
) -> TaskSpec:
    """The new task: rules, labels, priority and models of its parent, within the rest of its limits.

    Args:
        record: the parent.
        params: of the call; `spawn_problem` has found nothing.
        task_id: of the child.
        working_dir: of the child.
        tiers: names for models.
        now_ms: server time.

    Raises:
        BadInput: a tier is gone.
    """
    parent, tier = record.spec, params.get("model")
    choice = record.choice if tier is None else resolved(tier, tiers)
    rest, cost = rest_microusd(record), params.get("max_cost_usd")
    turns = min(params.get("max_turns") or record.limits.max_turns, record.limits.max_turns)
    line = " ".join(str(params["prompt"]).split())
    try:
        return TaskSpec(
            task_id=task_id,
            name=params.get("name") or line[:NAME_CHARS],
            prompt=params["prompt"],
            **choice.model_dump(exclude={"since_turn"}),
            max_tokens=parent.max_tokens,
            working_dir=working_dir,
            system=parent.system,
            allow=parent.allow,
            mode=Mode.AUTONOMOUS,
            on_unknown_outcome=parent.on_unknown_outcome,
            limits=Limits(
                max_turns=turns, max_cost_microusd=rest if cost is None else min(rest, round(cost * _MICROUSD))
            ),
            priority=parent.priority,
            parent_id=parent.task_id,
            depth=parent.depth + 1,
            on_parent_end=params.get("on_parent_end"),
            tags=parent.tags,
            labels=parent.labels,
            permission_timeout_s=parent.permission_timeout_s,
            created_at_ms=now_ms,
            extra=parent.extra,
        )
    except ValueError as error:
        raise BadInput(f"the subtask cannot be made: {error}") from None


def below(parent: TaskRecord, spec: TaskSpec, on_parent_end: OnParentEnd | None, max_depth: int) -> TaskSpec:
    """A task that a person makes as the child of another one: its money comes out of that of the parent.

    Args:
        parent: the task above it.
        spec: as asked for.
        on_parent_end: what becomes of it when its parent is over; None for the usual.
        max_depth: the setting max_task_depth.

    Raises:
        BadInput: the parent stands too deep, or has no money left.
    """
    if parent.spec.depth >= max_depth:
        raise BadInput(
            f"{parent.task_id} has {parent.spec.depth} tasks above it, and max_task_depth allows {max_depth}: submit a"
            " task of its own, or raise that setting"
        )
    rest = rest_microusd(parent)
    if rest <= 0:
        raise BadInput(
            f"the money of {parent.task_id} is used up; raise it: `neuraphage limit {parent.short_id} --max-cost`"
        )
    limits = spec.limits.model_copy(update={"max_cost_microusd": min(rest, spec.limits.max_cost_microusd)})
    family = {"parent_id": parent.task_id, "depth": parent.spec.depth + 1, "on_parent_end": on_parent_end}
    return spec.model_copy(update={**family, "limits": limits, "labels": {**parent.spec.labels, **spec.labels}})
