"""Guards outside the scripts about tasks that wait for tasks, and about many tasks at once."""

from __future__ import annotations

from bugs import Bug

WOKEN = "tests/unit/runtime/test_woken_tasks.py::"
BATCHES = "tests/cli/test_batches.py::"

GRAPH_GUARDS = (
    Bug(
        "graph-recovery-sends-who-waited", "neuraphage/runtime/sweep.py",
        "        for turn in answer.woken:\n", "        for turn in ():\n",
        WOKEN + "test_a_recovery_that_gives_a_task_up_sends_who_waited",
    ),
    Bug(
        "graph-cancel-sends-who-waited", "neuraphage/api/service.py",
        "        for turn in answer.woken:\n", "        for turn in ():\n",
        WOKEN + "test_a_cancel_sends_who_waited",
    ),
    Bug(
        "graph-released-task-is-sent-once", "neuraphage/api/service.py",
        "            if turn.task_id != task_id:\n", "            if True:\n",
        WOKEN + "test_a_cancel_sends_who_waited",
    ),
    Bug(
        "graph-batch-row-has-one-id", "neuraphage/decide/batches.py",
        'hashlib.sha256("\\0".join((namespace, batch, key)).encode("utf-8", "replace")).digest()',
        "uuid.uuid4().bytes",
        BATCHES + "test_a_batch_that_breaks_off_goes_on",
    ),
    Bug(
        "graph-batch-refuses-who-waits-for-a-refused-row", "neuraphage/api/batch.py",
        "        if name in refused:\n", "        if False:\n",
        BATCHES + "test_what_is_refused_is_told_and_the_others_are_made",
    ),
)  # fmt: skip
"""Each as a change of the product that takes the guard away, with a test that misses it."""
