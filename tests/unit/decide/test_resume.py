"""What people are told of a task's phase and of the point it goes on from."""

from __future__ import annotations

import pytest

from neuraphage.decide.resume import phase_of, remaining_tools, resume_point_of
from neuraphage.model.effect import MODEL_ENTRY, EffectState, JournalEntry, Marker, MarkerName, ModelEffect, ToolEffect
from neuraphage.model.phase import Phase
from neuraphage.model.resume_point import ResumePointKind

CREATED, SENT, REPLIED, SUMMING, SUMMED, STARTED, DONE, ASKED = (Marker(name=name) for name in MarkerName)
REPLY = {"role": "assistant", "content": [
    {"type": "text", "text": "Now."},
    *({"type": "tool_use", "id": key, "name": "act", "input": {}} for key in ("t1", "t2", "t3")),
]}  # fmt: skip


def journal(**states: EffectState) -> dict[str, JournalEntry]:
    """A journal by key and state."""
    return {
        key: (ModelEffect(state=s) if key == MODEL_ENTRY else ToolEffect(key=key, state=s)) for key, s in states.items()
    }


@pytest.mark.parametrize(
    ("marker", "place", "between_turns", "phase"),
    [
        (CREATED, "leases", True, Phase.INITIALIZING),
        (DONE, "leases", True, Phase.ASSEMBLING_CONTEXT),
        (REPLIED, "leases", True, Phase.ASSEMBLING_CONTEXT),
        (SENT, "leases", False, Phase.LLM_REQUEST),
        (REPLIED, "leases", False, Phase.PROCESSING),
        (SUMMING, "leases", False, Phase.LLM_REQUEST),
        (SUMMED, "leases", False, Phase.ASSEMBLING_CONTEXT),
        (STARTED, "leases", False, Phase.TOOL_EXECUTION),
        (DONE, "leases", False, Phase.PROCESSING),
        (ASKED, "leases", False, Phase.PROCESSING),
        (DONE, "outbox", True, Phase.BETWEEN_TURNS),
        (SENT, "timers", False, Phase.RETRY_WAIT),
    ],
)
def test_every_phase_is_told(marker: Marker, place: str, between_turns: bool, phase: Phase) -> None:
    """By marker, place and whether the turn has done anything yet."""
    assert phase_of(marker, place, between_turns=between_turns) is phase


@pytest.mark.parametrize(
    ("marker", "between_turns", "kind"),
    [
        (CREATED, True, ResumePointKind.CONTEXT_ASSEMBLY),
        (DONE, True, ResumePointKind.CONTEXT_ASSEMBLY),
        (SENT, False, ResumePointKind.LLM_CALL),
        (SUMMING, False, ResumePointKind.CONTEXT_ASSEMBLY),
        (SUMMED, False, ResumePointKind.CONTEXT_ASSEMBLY),
        (REPLIED, False, ResumePointKind.TOOL_EXECUTION),
        (STARTED, False, ResumePointKind.TOOL_EXECUTION),
        (DONE, False, ResumePointKind.TOOL_EXECUTION),
        (ASKED, False, ResumePointKind.WAITING_FOR_USER),
    ],
)
def test_a_resume_point_is_that_of_the_turn_and_not_of_the_one_before(
    marker: Marker, between_turns: bool, kind: ResumePointKind
) -> None:
    """The marker of a turn that has ended says nothing about the next one."""
    assert resume_point_of(marker, between_turns=between_turns).kind is kind


def test_remaining_tools_are_the_calls_without_a_result() -> None:
    """In the order of the reply; planned and started ones count as remaining."""
    done, started, planned = EffectState.COMPLETED, EffectState.STARTED, EffectState.PLANNED
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "x"}]}
    assert remaining_tools(journal(model=done, t3=planned, t2=done, t1=started), [REPLY, result]) == ("t1", "t3")
    assert remaining_tools(journal(model=done), [REPLY]) == ("t1", "t2", "t3")


def test_a_call_that_is_open_has_no_remaining_tools() -> None:
    """The last reply of the conversation is then one of an earlier turn."""
    assert remaining_tools(journal(model=EffectState.STARTED), [REPLY]) == ()
    assert remaining_tools({}, [REPLY]) == ()
    assert remaining_tools(journal(model=EffectState.COMPLETED), [{"role": "user", "content": []}]) == ()
