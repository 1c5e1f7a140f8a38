"""Twenty tasks at a time on real workers, while everything is killed: nothing is lost, doubled or paid twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from chaos_run import Chaos, told_seed

from neuraphage.model.task import Status, TaskRecord
from neuraphage.store import invariant
from patience import PATIENCE_S
from stackkit import Stack

pytestmark = [pytest.mark.real_workers, pytest.mark.timeout(0)]
SHORT_LIMIT_S = 600.0
"""It ends as soon as every class was hit: after some 20 s, or minutes on a fraction of a core."""
FINISH_LIMIT_S = PATIENCE_S


def test_kills_of_everything_lose_nothing_and_repeat_nothing(
    stack: Stack, seed: int, chaos_s: float, announce: Callable[[str], None]
) -> None:
    """All tasks end, each line is there once, each reply is paid once, no request is refused, the invariant holds."""
    with told_seed(seed):
        chaos = Chaos(stack, seed)
        try:
            chaos.run(chaos_s, limit_s=max(SHORT_LIMIT_S, chaos_s + 60.0 if chaos_s else 0.0))
            records = chaos.finish(FINISH_LIMIT_S)
        finally:
            announce(f"chaos, --chaos-seed {seed}: {len(chaos.tasks)} tasks\n{chaos.tally.table()}")
        assert invariant.violations(stack.store.context) == []
        assert [r.task_id for r in records if r.status is not Status.COMPLETED] == []
        assert [problem for record in records for problem in problems_of(stack, chaos, record)] == []
        assert [r for r in stack.model_requests() if r["outcome"].startswith("refused")] == []
        assert chaos.tally.is_full(), "too few kills, or a class that was never hit"


def problems_of(stack: Stack, chaos: Chaos, record: TaskRecord) -> list[str]:
    """What is wrong with a finished task."""
    task, counters = chaos.tasks[record.task_id], record.counters
    problems = task.problems(stack.work_dir(record.task_id))
    replies = stack.events(record.task_id, "ResponseReceived")
    if not len(replies) == counters.model_calls == counters.iteration == task.turns:
        problems.append(f"{len(replies)} replies, {counters.model_calls} paid, for {task.turns} turns")
    broken = stack.events(record.task_id, "RequestFailed")
    if counters.cost_microusd != sum(reply.data["cost_microusd"] for reply in [*replies, *broken]):
        problems.append("the cost is not the sum of the replies'")
    if len(stack.model_requests(record.task_id)) > task.turns + counters.model_resends:
        problems.append("more requests than turns and counted repetitions")
    results = stack.events(record.task_id, "ToolCompleted")
    problems += [f"tool result {e.data}" for e in results if e.data["unknown"] or e.data["error"]]
    return [f"{record.task_id}: {problem}" for problem in problems]
