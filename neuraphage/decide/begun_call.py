"""A tool call that a former lease had begun: what was found out of it, and what follows. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from neuraphage.decide.given_result import changed_result
from neuraphage.model.detached import DetachedState
from neuraphage.model.tool import Probe, ProbeVerdict, ToolCall, ToolResult


class Finding(StrEnum):
    """What was found out of a begun call."""

    ENDED = "ended"
    """It was carried out; its result is in hand."""
    NOT_DONE = "not done"
    """It had no effect, and may be begun under the same effect id."""
    SEALED = "sealed"
    """It had not started, and never will under its effect id."""
    RUNNING = "running"
    """It goes on, and can be waited for."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Found:
    """A fact about one begun call, asked for before the decision that uses it.

    Args:
        finding: what was found.
        result: ENDED: the result to record; UNKNOWN: the one it has while nobody knows.
    """

    finding: Finding
    result: ToolResult | None = None


def of_probe(call: ToolCall, probe: Probe) -> Found:
    """What a tool's own look at the world says."""
    match probe.verdict:
        case ProbeVerdict.HAPPENED:
            done = ToolResult(text=f"{call.name} was done before an interruption.")
            return Found(Finding.ENDED, probe.result or done)
        case ProbeVerdict.NOT_HAPPENED:
            return Found(Finding.NOT_DONE)
        case ProbeVerdict.UNKNOWN:
            return Found(Finding.UNKNOWN, changed_result(call.name))


OF_DETACHED: Mapping[tuple[DetachedState, bool], Finding] = {
    (DetachedState.RUNNING, True): Finding.RUNNING,
    (DetachedState.RUNNING, False): Finding.RUNNING,
    (DetachedState.DONE, True): Finding.ENDED,
    (DetachedState.DONE, False): Finding.ENDED,
    (DetachedState.SEALED, True): Finding.SEALED,
    # a record that is gone by age looks like one that never was; far inside the retention it cannot be gone
    (DetachedState.SEALED, False): Finding.UNKNOWN,
    (DetachedState.LOST, True): Finding.UNKNOWN,
    (DetachedState.LOST, False): Finding.UNKNOWN,
    (DetachedState.ABSENT, True): Finding.UNKNOWN,
    (DetachedState.ABSENT, False): Finding.UNKNOWN,
}
"""By the state in which detached work was sealed, and whether its record would surely still be there."""


def of_detached(state: DetachedState, age_ms: int, retention_s: float) -> Finding:
    """What became of detached work of the place that began it.

    Args:
        state: as `seal` has found it.
        age_ms: time since it was announced.
        retention_s: how long records of work that is over are kept.
    """
    return OF_DETACHED[state, age_ms < retention_s * 1000 / 2]
