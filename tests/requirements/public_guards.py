"""Guards whose absence lets the failures back in that other systems showed in public."""

from __future__ import annotations

from bugs import Bug

PEOPLE = "tests/unit/runtime/test_public_failures_of_people.py::"
OF_LIMITS = "tests/unit/runtime/test_public_failures_of_limits.py::"

PUBLIC_GUARDS = (
    Bug(
        "public-7-a-lost-message-is-sent-again", "neuraphage/runtime/sweep.py",
        "lambda task_id: self._store.republish(task_id, ahead_ms)", "lambda task_id: None",
        OF_LIMITS + "test_a_recovery_that_dies_half_way_keeps_nobody_waiting",
    ),
    Bug(
        "public-7-a-slot-goes-on-at-a-recovery", "neuraphage/runtime/sweep.py",
        """        for turn in answer.woken:
            self._publish(turn, "the end of what it waited for")
        if answer.decision""",
        "        if answer.decision",
        OF_LIMITS + "test_a_recovery_that_leaves_a_task_to_people_gives_its_slot_on",
    ),
    Bug(
        "public-12-what-has-run-runs-no-more", "neuraphage/decide/machine.py",
        "entry.state is EffectState.COMPLETED:\n            shape",
        "entry.state is EffectState.COMPLETED and entry.fence == state.fence:\n            shape",
        PEOPLE + "test_a_call_beside_one_that_asks_runs_once",
    ),
    Bug(
        "public-13-a-prompt-is-named-after-its-call", "neuraphage/decide/hashing.py",
        "sha256_hex([task_id, iteration, call, purpose])", "sha256_hex([task_id, iteration, purpose])",
        PEOPLE + "test_parallel_prompts_answered_in_reverse_get_their_own_answers",
    ),
    Bug(
        "public-15-a-deadline-comes-without-its-worker", "neuraphage/runtime/sweep.py",
        "            answer = self._apart(task_id, partial(self._store.signal, task_id, sent))\n",
        "            answer = None\n",
        PEOPLE + "test_a_permission_that_nobody_answers_is_denied_after_everybody_died",
    ),
    Bug(
        "public-16-a-yes-is-for-one-call", "neuraphage/decide/answers.py",
        '    "yes": (Permission.GRANTED, Scope.ONCE),\n', '    "yes": (Permission.GRANTED, Scope.TASK),\n',
        PEOPLE + "test_an_approval_is_for_the_call_that_was_seen",
    ),
    Bug(
        "public-17-a-decision-is-of-the-task", "neuraphage/decide/policy.py",
        "Ruled(Ruling.ALLOWED if decided is Permission.GRANTED else Ruling.DENIED)", "Ruled(Ruling.ASK)",
        PEOPLE + "test_an_approval_holds_in_a_fresh_process",
    ),
)  # fmt: skip
"""Each as a change of the product that takes the guard away, with a test that misses it."""
