"""The outcome of a message, as Flower and the log show it: what happened and where the task stands, no content."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from neuraphage.model.effect import MarkerName
from neuraphage.model.recovery import RecoveryReport
from neuraphage.model.task import Status
from neuraphage.ports import ClaimVerdict, CommitVerdict, Settled
from neuraphage.runtime.outcome import FAILED, not_done, refused, settled_outcome
from neuraphage.runtime.sweep import summary
from neuraphage.store.refusals import store_error
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


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (redis.exceptions.ConnectionError("refused"), "state server away: the sweep sends it again"),
        (redis.exceptions.TimeoutError("slow"), "state server away: the sweep sends it again"),
        (redis.exceptions.OutOfMemoryError("OOM command not allowed"), "refused by the state server, the sweep sends"),
        (redis.exceptions.ReadOnlyError("READONLY You can't write"), "again: READONLY You can't write"),
        (redis.exceptions.BusyLoadingError("LOADING data"), "again: LOADING data"),
        (redis.exceptions.NoPermissionError("NOPERM no"), "not allowed by the state server, the sweep sends it again"),
        (redis.exceptions.NoPermissionError("NOPERM no"), "(NOPERM no)"),
        (redis.exceptions.ResponseError("WRONGTYPE of key"), "failed at the state server, the sweep sends it again"),
        (redis.exceptions.ResponseError("WRONGTYPE of key"), "WRONGTYPE of key"),
    ],
)
def test_a_server_that_refuses_is_not_called_away(error: redis.exceptions.RedisError, words: str) -> None:
    """The outcome that Flower shows has the server's own words: who reads it must know what to correct."""
    assert words in not_done(store_error("claim", error))


def test_a_turn_that_is_refused_ends_with_that_reason(make_rig: Callable[..., Rig]) -> None:
    """And a long reason is cut."""
    rig = make_rig(says("Done."))
    rig.submit()
    error = store_error("commit", redis.exceptions.ResponseError("ERR unknown " + "x" * 1_000))

    def refuse(*_: object) -> object:
        raise error

    rig.store.commit = refuse  # type: ignore[method-assign,assignment]  # a server that refuses
    outcome = rig.step()
    assert outcome.startswith("failed at the state server, the sweep sends it again: commit:")
    assert "ERR unknown" in outcome
    assert len(outcome) < 300


def test_a_failure_says_why_and_of_which_task() -> None:
    """In one line, and not without end."""
    failed = Settled(DONE, Status.FAILED, iteration=3)
    marker = MarkerName.REQUEST_SENT
    assert settled_outcome(failed, marker, 3, name="tidy up", error="No\nmoney.") == (
        f"{FAILED}: request_sent: No money. (tidy up)"
    )
    assert len(settled_outcome(failed, marker, 3, name="n" * 200, error="e" * 10_000)) < 300


def test_every_refusal_says_that_nothing_was_done() -> None:
    """A message that grants no claim did nothing, and its outcome says so."""
    refusals = [verdict for verdict in ClaimVerdict if verdict is not ClaimVerdict.GRANTED]
    assert [refused(verdict).value.endswith(": nothing done") for verdict in refusals] == [True] * 3


def test_a_turn_tells_its_outcome_and_the_next_message_what_it_follows(make_rig: Callable[..., Rig]) -> None:
    """The marker goes from the end of one turn to the message of the next."""
    rig = make_rig(extra=[FakeTool()])
    rig.model.steps = [calls(("t1", "act", {})), says("Done.")]
    task_id = rig.submit()
    assert (rig.step(), rig.dispatcher.after[-1]) == ("finished: tool_completed (A task)", "tool_completed")
    assert rig.step() == "task completed: response_received (A task)"
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.dispatcher.after == ["task_created", "tool_completed"]


def test_a_sweep_counts_what_it_did() -> None:
    """Only what was done is named, and how long it took."""
    assert summary(RecoveryReport(swept_at_ms=1, duration_ms=7)) == "nothing due; 7 ms"
    assert (
        summary(RecoveryReport(swept_at_ms=1, duration_ms=7, republished=2, fired=1)) == "2 sent again, 1 timers; 7 ms"
    )
