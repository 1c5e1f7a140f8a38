"""How a turn asks guards: with what they are given of the task, and without secrets in what they say."""

from __future__ import annotations

from typing import Any

from neuraphage.model.event import Event, EventKind
from neuraphage.model.hook import HookPoint, Judgement, VerdictKind
from neuraphage.model.hook_payload import Payload
from neuraphage.model.task import StartedReason
from neuraphage.runtime.services import Services
from neuraphage.runtime.unit_of_work import UnitOfWork


class GuardBlocked(Exception):
    """A guard lets no request be sent: a fact of the next decision, and no fault.

    Args:
        point: where it was asked.
        said: what it said.
    """

    def __init__(self, point: HookPoint, said: Judgement) -> None:
        super().__init__(why_blocked(point, said))
        self.events = told(point, said)
        """What the history has of it."""


def why_blocked(point: HookPoint, said: Judgement) -> str:
    """Why a task does not go on, for people."""
    return f"The guard {said.by} blocked at {point.value}: {said.reason} `neuraphage retry` asks it again."


def told(point: HookPoint, said: Judgement, tool: str = "", call: str = "") -> list[Event]:
    """What the history has of a judgement.

    Args:
        point: where it was asked for.
        said: the judgement.
        tool, call: name of the tool and id of the call that it is about, if it is about one.
    """
    data = {"point": point.value, "tool": tool, "id": call, "verdict": said.verdict.value}
    events = [Event(kind=EventKind.SECURITY_POLICY_CHECK, data={**data, "by": said.by, "reason": said.reason})]
    if said.verdict is VerdictKind.BLOCK:
        against = {"tool": tool or point.value, "id": call, "by": said.by, "why": said.reason}
        events.append(Event(kind=EventKind.SECURITY_VIOLATION, data=against))
    return events


def common(work: UnitOfWork) -> dict[str, Any]:
    """What every guard is given of the task."""
    record = work.record
    return {
        "task_id": record.task_id,
        "task_name": record.spec.name,
        "turn": record.counters.iteration,
        "working_dir": record.spec.working_dir,
        "recovered": record.started_reason is StartedReason.RECOVERED,
    }


def judgement(services: Services, work: UnitOfWork, payload: Payload) -> Judgement:
    """What the guards of the payload's point say of it, without secrets.

    Raises:
        CancelRequested, LeaseLost: from the turn's interrupt.
    """
    held = work.held
    held.effect_since_s = services.clock.boottime_s()  # code of others is bounded like an effect
    try:
        said = services.guards.judge(payload, held)
    finally:
        held.effect_since_s = None
    redact = services.redaction
    clean: dict[str, Any] = {"reason": redact.text(said.reason)}
    if said.params is not None:
        clean["params"] = redact.json(said.params)
    clean |= {name: redact.text(text) for name in ("text", "system") if (text := getattr(said, name)) is not None}
    return said.model_copy(update=clean)
