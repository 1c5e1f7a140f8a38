"""The outcome of a message, as Flower and the log show it: what happened and where the task stands, no content."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.model.effect import MarkerName
from neuraphage.model.recovery import RecoveryReport
from neuraphage.model.task import Status
from neuraphage.ports import ClaimVerdict, CommitVerdict, Settled
from neuraphage.runtime.outcome import FAILED, refused, settled_outcome
from neuraphage.runtime.sweep import summary
from turnkit import FakeTool, Rig, calls, says

DONE = CommitVerdict.COMMITTED


@pytest.mark.parametrize(
    ("settled", "words"),
    [
        (Settled(DONE, Status.RUNNING, "outbox", seq=9, iteration=4), "finished: tool_completed"),
        (Settled(DONE, Status.QUEUED, "outbox", seq=9, iteration=3), "given back: tool_completed"),
        (Settled(DONE, Status.RUNNING, "timers", seq=9, iteration=3), "waiting for a retry: tool_completed"),
        (Settled(DONE, Status.WAITING_FOR_USER, "waits", iteration=3), "waiting for user"),
        (Settled(DONE, Status.PAUSED, "waits", iteration=3), "paused: tool_completed"),
        (Settled(DONE, Status.COMPLETED, iteration=4), "task completed: tool_completed"),
        (Settled(DONE, Status.FAILED, iteration=3), f"{FAILED}: tool_completed"),
        (Settled(CommitVerdict.CANCELLED, iteration=3), "cancelled: tool_completed"),
    ],
)
def test_an_outcome_says_how_the_turn_ended_and_at_which_marker(settled: Settled, words: str) -> None:
    """One line for each way a claimed turn can end."""
    assert settled_outcome(settled, MarkerName.TOOL_COMPLETED, 3) == words


def test_every_refusal_says_that_nothing_was_done() -> None:
    """A message that grants no claim did nothing, and its outcome says so."""
    refusals = [verdict for verdict in ClaimVerdict if verdict is not ClaimVerdict.GRANTED]
    assert [refused(verdict).value.endswith(": nothing done") for verdict in refusals] == [True] * 3


def test_a_turn_tells_its_outcome_and_the_next_message_what_it_follows(make_rig: Callable[..., Rig]) -> None:
    """The marker goes from the end of one turn to the message of the next."""
    rig = make_rig(extra=[FakeTool()])
    rig.model.steps = [calls(("t1", "act", {})), says("Done.")]
    rig.submit()
    assert (rig.step(), rig.dispatcher.after[-1]) == ("finished: tool_completed", "tool_completed")
    assert rig.step() == "task completed: response_received"
    assert rig.dispatcher.after == ["task_created", "tool_completed"]


def test_a_sweep_counts_what_it_did() -> None:
    """Only what was done is named, and how long it took."""
    assert summary(RecoveryReport(swept_at_ms=1, duration_ms=7)) == "nothing due; 7 ms"
    assert (
        summary(RecoveryReport(swept_at_ms=1, duration_ms=7, republished=2, fired=1)) == "2 sent again, 1 timers; 7 ms"
    )
