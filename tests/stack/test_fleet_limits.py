"""All workers of a key together keep to its limit, through kill -9 of each of them."""

from __future__ import annotations

import pytest

from stackkit import Stack, task_prompt, turn, wait_for
from stackkit.process import StackProcess

pytestmark = pytest.mark.real_workers

MOST, WINDOW_S = 10, 6.0
LIMITS = {"model_limits": f"* requests={int(MOST * 60 / WINDOW_S)}", "model_limit_window_s": WINDOW_S}
WINDOWS = 4
TASKS = MOST * WINDOWS + 5


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
