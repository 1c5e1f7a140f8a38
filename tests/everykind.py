"""Every kind of event is seen written: by the scripts, in a test that is named here, and that test is held to it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from eventkit import stored_events
from neuraphage.model.event import EventKind
from neuraphage.store.context import StoreContext

TURNS = "tests/unit/runtime/"
SCRIPTS = "tests/contract/"
WRITTEN_IN: Mapping[EventKind, str] = {
    EventKind.TASK_CREATED: TURNS + "test_pause_and_shutdown.py::test_a_draining_process_takes_nothing",
    EventKind.TASK_STARTED: TURNS + "test_people_in_turns.py::test_ask_user_waits_and_the_answer_is_its_result",
    EventKind.TASK_RESUMED: TURNS + "test_absent_owners.py::test_a_call_whose_process_died_is_made_again_and_counted",
    EventKind.TASK_SCHEDULED: SCRIPTS + "test_slots_contract.py::test_only_so_many_are_put_to_work[valkey]",
    EventKind.TASK_BLOCKED: TURNS + "test_locked_calls.py::test_the_second_waits_for_the_first_and_then_goes_on",
    EventKind.TASK_PAUSED: TURNS + "test_pause_and_shutdown.py::test_a_paused_task_is_left_alone",
    EventKind.TASK_UNPAUSED: TURNS + "test_pause_and_shutdown.py::test_pause_during_a_retry_timer_keeps_the_wait",
    EventKind.LIMITS_CHANGED: TURNS + "test_limits_raised.py::test_a_message_at_the_limit_of_money_is_not_lost",
    EventKind.MODEL_CHANGED: TURNS + "test_money_of_each_call.py::test_a_fall_back_reserves_at_its_own_price",
    EventKind.TASK_RETRIED: TURNS + "test_tools_in_turns.py::test_fail_task_fails_it_with_its_reason",
    EventKind.TASK_RESET: TURNS + "test_anew.py::test_an_answer_of_before_a_reset_allows_nothing_after_it",
    EventKind.REPLY_SUPERSEDED: TURNS + "test_another_try.py::test_a_repeat_asks_once",
    EventKind.TASK_COMPLETED: TURNS + "test_attachments_in_turns.py::test_a_model_that_sees_nothing_gets_words",
    EventKind.TASK_FAILED: TURNS + "test_empty_replies.py::test_a_bound_of_zero_fails_at_the_first",
    EventKind.TASK_CANCELLED: TURNS + "test_cancel.py::test_cancel_of_a_task_whose_worker_is_dead",
    EventKind.REQUEST_HELD: TURNS + "test_cooling_models.py::test_people_are_told_what_a_task_waits_for",
    EventKind.REQUEST_SENT: TURNS + "test_cancel.py::test_cancel_while_the_reply_streams",
    EventKind.REQUEST_FAILED: TURNS + "test_turn_limits.py::test_a_failed_call_is_not_called_before_its_time",
    EventKind.RESPONSE_RECEIVED: TURNS + "test_attachments_in_turns.py::test_a_model_that_sees_nothing_gets_words",
    EventKind.CONTEXT_COMPACTED: TURNS
    + "test_compaction_in_turns.py::test_a_refusal_for_length_makes_the_conversation_shorter_once",
    EventKind.TOOL_HELD: TURNS + "test_rates_in_turns.py::test_why_says_what_it_waits_for",
    EventKind.TOOL_STARTED: TURNS + "test_code_of_others.py::test_a_person_who_ends_the_process_is_heard",
    EventKind.TOOL_COMPLETED: TURNS + "test_changed_files.py::test_nobody_is_asked_about_a_call_that_can_only_fail",
    EventKind.USER_INPUT_NEEDED: TURNS + "test_told_prompts.py::test_a_conversation_is_told_of_too",
    EventKind.INPUT_RECEIVED: TURNS + "test_people_in_turns.py::test_words_sent_during_a_turn_reach_the_next_request",
    EventKind.ANSWER_RECEIVED: TURNS + "test_people_in_turns.py::test_ask_user_waits_and_the_answer_is_its_result",
    EventKind.ANSWER_TAKEN: TURNS + "test_people_in_turns.py::test_ask_user_waits_and_the_answer_is_its_result",
    EventKind.RESOURCE_LOCK_WAIT: TURNS + "test_locked_calls.py::test_the_second_waits_for_the_first_and_then_goes_on",
    EventKind.RESOURCE_LOCK_ACQUIRED: TURNS
    + "test_locked_calls.py::test_the_second_waits_for_the_first_and_then_goes_on",
    EventKind.RESOURCE_LOCK_RELEASED: TURNS
    + "test_locked_calls.py::test_the_second_waits_for_the_first_and_then_goes_on",
    EventKind.RESOURCE_LOCK_BROKEN: SCRIPTS + "test_locks_contract.py::test_a_person_can_break_a_lock[valkey]",
    EventKind.SUBTASK_SPAWNED: TURNS + "test_subtasks.py::test_a_parent_gets_the_result_of_its_child",
    EventKind.DEPENDENCY_ADDED: SCRIPTS + "test_edges_contract.py::test_bounds_of_the_graph[valkey]",
    EventKind.DEPENDENCY_REMOVED: SCRIPTS + "test_edges_contract.py::test_a_deleted_one_counts_as_failed[valkey]",
    EventKind.PERMISSION_REQUEST: TURNS
    + "test_decision_events.py::test_a_request_is_told_with_the_prompt_that_it_opens",
    EventKind.PERMISSION_GRANTED: TURNS + "test_code_of_others.py::test_a_person_who_ends_the_process_is_heard",
    EventKind.PERMISSION_DENIED: TURNS
    + "test_people_in_turns.py::test_an_unanswered_permission_is_denied_at_its_deadline",
    EventKind.PERMISSION_VOIDED: TURNS + "test_seals.py::test_the_tool_means_something_else_now",
    EventKind.HOST_REFUSED: TURNS + "test_refused_hosts.py::test_a_name_that_holds_a_secret_is_not_kept",
    EventKind.SECURITY_POLICY_CHECK: TURNS + "test_guards_of_turns.py::test_a_guard_replies_in_place_of_the_model",
    EventKind.SECURITY_VIOLATION: TURNS + "test_decision_events.py::test_what_never_runs_is_told_as_nobodys_rule",
    EventKind.BUDGET_WARNING: TURNS
    + "test_money_in_turns.py::test_a_task_whose_pool_is_used_up_is_paused_before_its_next_call",
    EventKind.WORKING_DIR_LOST: TURNS + "test_working_dir_gone.py::test_it_is_told_before_the_first_call_of_the_model",
    EventKind.WORKING_DIR_BACK: TURNS
    + "test_working_dir_gone.py::test_it_is_told_when_it_goes_under_way_and_comes_back",
    EventKind.ANOMALY_DETECTED: TURNS
    + "test_anomalies_in_turns.py::test_twelve_identical_failures_stop_by_the_defaults",
    EventKind.TASK_RECOVERED: TURNS + "test_empty_replies.py::test_an_empty_reply_outlives_its_process",
    EventKind.REQUEST_ATTACHED: TURNS
    + "test_compaction_in_turns.py::test_a_call_for_a_summary_that_the_relay_holds_is_gone_on_with",
    EventKind.TOOL_ATTACHED: TURNS
    + "test_locked_calls.py::test_a_call_that_waits_too_long_gets_an_error_that_names_the_holder",
    EventKind.TOOL_SETTLED: TURNS + "test_interrupted_calls.py::test_a_command_that_ended_meanwhile_is_read",
}  # fmt: skip
"""A test of real turns or of the real server for each kind; what it writes is looked at when its rig is checked."""


def missing_kinds(context: StoreContext) -> list[str]:
    """Kinds that the running test is named for, and that no task of its store has in its history."""
    running = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    wanted = [kind.value for kind, test in WRITTEN_IN.items() if test == running]
    if not wanted:
        return []
    written = {event.kind for event in stored_events(context)}
    return [kind for kind in wanted if kind not in written]
