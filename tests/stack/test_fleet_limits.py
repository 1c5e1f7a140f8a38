"""All workers of a key together keep to its limit, through kill -9 of each of them."""

from __future__ import annotations

from typing import Any

import pytest

from stackkit import Stack, task_prompt, turn, wait_for
from stackkit.process import StackProcess

pytestmark = pytest.mark.real_workers

MOST, WINDOW_S = 10, 6.0
LIMITS = {"model_limits": f"* requests={int(MOST * 60 / WINDOW_S)}", "model_limit_window_s": WINDOW_S}
WINDOWS = 4
TASKS = MOST * WINDOWS + 5
SLOTS = 12
"""Turns that two workers have at one time."""


def test_the_limit_of_a_key_is_used_and_never_passed_through_kills(stack: Stack) -> None:
    """The provider enforces ten calls within a window and refuses none, while both workers are killed in the midst of
    calls and replaced. Nine tenths of what it allows in four windows are used: a call that outlives its worker counts
    as long as any other."""
    stack.control_model("limit", {"requests": MOST, "window_s": WINDOW_S})
    workers = [start(stack), start(stack)]
    tasks = [stack.submit(task_prompt(turn("a few words", between_events_s=0.1, chunk_chars=2))) for _ in range(TASKS)]
    for killed in range(2):
        wait_for(lambda: len(stack.model_requests()) >= MOST * (killed + 1) + 3, "calls of the next window")  # noqa: B023 - called before the loop goes on
        workers[killed].kill()
        workers.append(start(stack))
    stack.finished(*tasks)
    calls = stack.model_requests()
    assert [one for one in calls if one["outcome"] == "limited:429"] == []
    first_s = min(one["received_at_s"] for one in calls)
    made = sum(one["received_at_s"] < first_s + WINDOWS * WINDOW_S for one in calls)
    assert made >= 0.9 * MOST * WINDOWS
    assert sum(one["outcome"] == "completed" for one in calls) >= TASKS


def start(stack: Stack) -> StackProcess:
    """A worker that keeps to the limits."""
    return stack.start_worker(concurrency=6, **LIMITS)


def test_a_limit_that_nobody_set_is_learned_and_kept_through_kills(stack: Stack) -> None:
    """As above, but that nobody has set anything: workers learn the limit from the provider's headers. Until they have,
    it refuses no more than what the fleet has under way at one time; after its first window nothing at all."""
    stack.control_model("limit", {"requests": MOST, "window_s": WINDOW_S, "told_per": int(60 / WINDOW_S)})
    workers = [learner(stack), learner(stack)]
    tasks = [stack.submit(task_prompt(turn("a few words", between_events_s=0.1, chunk_chars=2))) for _ in range(TASKS)]
    for killed in range(2):
        wait_for(lambda: len(taken(stack)) >= MOST * (killed + 1) + 3, "calls of the next window")  # noqa: B023 - called before the loop goes on
        workers[killed].kill()
        workers.append(learner(stack))
    stack.finished(*tasks)
    first_s = min(one["received_at_s"] for one in stack.model_requests())
    refused = [one for one in stack.model_requests() if one["outcome"] == "limited:429"]
    assert len(refused) <= SLOTS
    assert [one for one in refused if one["received_at_s"] > first_s + WINDOW_S] == []
    calls = taken(stack)
    assert sum(one["received_at_s"] < first_s + WINDOWS * WINDOW_S for one in calls) >= 0.9 * MOST * WINDOWS
    assert sum(one["outcome"] == "completed" for one in calls) >= TASKS


def taken(stack: Stack) -> list[Any]:
    """Calls that the provider took."""
    return [one for one in stack.model_requests() if one["outcome"] != "limited:429"]


def learner(stack: Stack) -> StackProcess:
    """A worker for which no limits are set."""
    return stack.start_worker(concurrency=SLOTS // 2, model_limit_window_s=WINDOW_S)
