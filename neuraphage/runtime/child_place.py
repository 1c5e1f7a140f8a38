"""Whether a call may make a child, and where that works: inside its parent's directory, with all links followed."""

from __future__ import annotations

from pathlib import Path

from neuraphage.decide.child_spec import spawn_problem
from neuraphage.decide.conversation import calls_of_turn
from neuraphage.model.effect import EffectState
from neuraphage.model.tool import ControlKind, ToolCall
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


def child_dir(own: str | None, wanted: str | None) -> str | None:
    """The directory of a child.

    Args:
        own: of the parent; None for none.
        wanted: as the call names it, relative to that or absolute; None for the same.
    """
    return own if own is None or wanted is None else str((Path(own) / wanted).resolve())


def _dir_problem(own: str | None, wanted: str | None) -> str | None:
    """Why a child cannot work there, as a sentence for the model; None where it can."""
    if wanted is None:
        return None
    if own is None:
        return "This task has no working directory, so a subtask has none: leave working_dir out."
    place = (Path(own) / wanted).resolve()
    if not place.is_relative_to(Path(own).resolve()):
        return f"working_dir {wanted} is not inside this task's working directory. Name one inside, or leave it out."
    if place.is_dir():
        return None
    return f"working_dir {wanted} is no directory. Make it first, or leave it out."


def why_no_child(services: Services, work: UnitOfWork, call: ToolCall) -> str | None:
    """Why a call that would make a child may not, as a sentence for the model; None for any other call."""
    declaration = services.declarations[call.name]
    if declaration.control is not ControlKind.SPAWN_TASK or not _is_new(work, call):
        return None
    settings, record = services.settings, work.record
    reply = calls_of_turn(work.model_effect, work.entries, record.counters.iteration)
    new = [one.tool_use_id for one in reply if one.name == call.name and _is_new(work, one)]
    return _dir_problem(record.spec.working_dir, call.params.get("working_dir")) or spawn_problem(
        record,
        call.params,
        made=work.children_made + new.index(call.tool_use_id),
        max_depth=settings.max_task_depth,
        max_children=settings.max_children,
        tiers=settings.tiers,
    )


def _is_new(work: UnitOfWork, call: ToolCall) -> bool:
    entry = work.tool_effect(call.tool_use_id)
    return entry is None or entry.state is EffectState.PLANNED
