"""Guards of context window and prompt cache, each as a change that takes it away, with a test that misses it."""

from __future__ import annotations

from bugs import Bug

COMPACTION = "neuraphage/decide/compaction.py"
STEP = "neuraphage/runtime/context_step.py"
PLANS = "tests/unit/decide/test_compaction.py::"
IMAGES = "tests/unit/runtime/test_attachments_in_turns.py::"
SUMMARY = "neuraphage/decide/summary_model.py"
WHO = "tests/unit/decide/test_summary_model_choice.py::"
BY = "tests/unit/runtime/test_summary_model.py::"
TURNS = "tests/unit/runtime/test_compaction_in_turns.py::"

CONTEXT_GUARDS = (
    Bug(
        "announced-call-is-put-back-before-a-summary", STEP,
        "        self._work.put_back_announced()\n", "",
        TURNS + "test_an_announced_call_that_is_not_sent_yet_is_put_back",
    ),
    Bug(
        "refused-for-length-is-sent-again-once", "neuraphage/decide/retry.py",
        "RetryDecision(None if compacted else 0.0, faults_before)", "RetryDecision(0.0, faults_before)",
        TURNS + "test_what_is_still_too_long_fails_clearly",
    ),
    Bug(
        "just-compacted-is-tried-first", COMPACTION,
        "return not found.just_compacted and tokens > bounds.limit_tokens", "return tokens > bounds.limit_tokens",
        PLANS + "test_what_was_just_made_shorter_is_tried_first",
    ),
    Bug(
        "compaction-outlives-another-try", "neuraphage/decide/conversation.py",
        "            kept += [row for row in reversed(hidden) if _stands_before(row[1], first)]\n", "",
        PLANS + "test_another_try_at_a_reply_keeps_what_was_made_shorter_before_it",
    ),
    Bug(
        "old-thoughts-alone-are-left-out", "neuraphage/decide/compacted.py",
        "if number < point.thoughts_to and", "if",
        PLANS + "test_then_old_thoughts_are_left_out",
    ),
    Bug(
        "secrets-are-taken-out-of-summaries", STEP,
        "return self._services.redaction.text(text)", "return text",
        TURNS + "test_a_secret_in_a_summary_is_taken_out_before_it_is_stored",
    ),
    Bug(
        "a-tier-stays-with-the-provider", SUMMARY,
        "if split_model(one).provider is provider), None)", "), None)",
        WHO + "test_of_a_tier_the_first_one_of_the_own_provider_is_meant",
    ),
    Bug(
        "what-is-summarized-fits-who-is-asked", SUMMARY,
        "    if needed > other.window_tokens:\n", "    if tokens > other.window_tokens:\n",
        WHO + "test_what_does_not_fit_goes_to_the_own_model",
    ),
    Bug(
        "another-model-is-waited-for-once", SUMMARY,
        "    if not waited and found.due_ms", "    if found.due_ms",
        BY + "test_a_model_that_goes_on_cooling_is_waited_for_once",
    ),
    Bug(
        "what-has-given-way-is-not-asked-again", SUMMARY,
        "if begun.why_own or begun.model", "if begun.model",
        BY + "test_what_refuses_for_good_gives_way_to_the_own_model",
    ),
    Bug(
        "a-summary-goes-on-with-who-was-asked", "neuraphage/runtime/turn_facts.py",
        "None if begun is None or is_over else begun.model", "None",
        BY + "test_a_recovered_turn_goes_on_with_the_same_model",
    ),
    Bug(
        "a-broken-summary-of-another-is-none", STEP,
        "if text is None or not (is_own or is_whole(reply)):", "if text is None:",
        BY + "test_a_summary_that_is_none_is_asked_of_the_own_model",
    ),
    Bug(
        "a-summary-tells-the-gate-of-its-model", STEP,
        "                gate.failed(fault)\n", "",
        BY + "test_a_short_refusal_is_waited_for_once",
    ),
    Bug(
        "a-summary-that-is-read-on-is-settled", STEP,
        "        self._gates.of_summary(request.model).attached(entry.attempt)\n", "",
        BY + "test_a_recovered_turn_goes_on_with_the_same_model",
    ),
    Bug(
        "a-worker-knows-whom-it-can-call", "neuraphage/wiring.py",
        "access.problem_of(model) is None,", "True,",
        "tests/unit/worker/test_summary_model_at_start.py::test_one_that_cannot_be_asked_is_told_once",
    ),
    Bug(
        "faults-of-another-are-none-of-its-own", SUMMARY,
        '        asked |= {"faults": 0, "fault": None, "compacted": False}\n', "        pass\n",
        BY + "test_a_record_that_was_too_long_for_another_is_sent_whole_to_the_own_model",
    ),
    Bug(
        "input-is-taken-in-behind-a-summary", "neuraphage/runtime/model_step.py",
        "if before is None or before.attempt == 0:", "if before is None:",
        TURNS + "test_an_announced_call_that_is_not_sent_yet_is_put_back",
    ),
    Bug(
        "filters-of-a-repository-are-off", "neuraphage/tools/git_state.py",
        "git.ask(*_STATUS, more=filters)", "git.ask(*_STATUS)",
        "tests/unit/tools/test_git_state.py::test_a_repository_runs_nothing",
    ),
    Bug(
        "bytes-of-images-are-not-for-people", "neuraphage/store/queries.py",
        'for name, value in entry.items() if name != "media"', "for name, value in entry.items()",
        IMAGES + "test_what_people_and_tools_show_is_sent_and_stored_once",
    ),
    Bug(
        "a-refused-image-is-left-out", "neuraphage/runtime/model_step.py",
        "                plain=entry.plain,\n            ),\n", "            ),\n",
        IMAGES + "test_an_image_that_the_provider_refuses_fails_no_task",
    ),
    Bug(
        "a-call-that-outlives-its-worker-is-settled", "neuraphage/runtime/model_step.py",
        "        self._capacity.attached(entry.attempt)\n", "",
        "tests/unit/runtime/test_model_limits_in_turns.py::test_a_call_that_outlives_its_worker_counts_once_and_no_longer",
    ),
    Bug(
        "an-hour-has-its-own-price", "neuraphage/decide/cost.py",
        "for_an_hour * price.hour_write_microusd", "for_an_hour * price.cache_write_microusd",
        "tests/unit/llm/test_llm_money_and_request.py::test_what_is_kept_for_an_hour_costs_twice",
    ),
)  # fmt: skip
