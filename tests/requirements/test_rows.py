"""Which tests show each row of `rows.py`; the tests named here must exist."""

from __future__ import annotations

import pytest
from bugs import BUGS, Bug
from rows import ROWS

from source_tree import ROOT, ids_of_tests

CLAIM = "tests/contract/test_claim_contract.py::"
COMMIT = "tests/contract/test_commit_contract.py::"
FINISH = "tests/contract/test_finish_contract.py::"
INVARIANT = "tests/contract/test_invariant_contract.py::"
PLACES = "tests/contract/test_places_contract.py::"
RECOVER = "tests/contract/test_recover_contract.py::"
REFUSED = "tests/contract/test_refused_writes.py::"
RENEW = "tests/contract/test_renew_contract.py::"
SIGNAL = "tests/contract/test_signal_contract.py::"
CRASH = "tests/crash/test_crash_points.py::"
STACK = "tests/stack/test_duplicates_and_zombies.py::"
SHUTDOWN = "tests/stack/test_warm_shutdown.py::"
ANOMALY = "tests/unit/decide/test_anomalies.py::"
MACHINE = "tests/unit/decide/test_machine.py::"
LIFECYCLE = "tests/unit/decide/test_lifecycle.py::"
CANCEL = "tests/unit/runtime/test_cancel.py::"
PAUSE = "tests/unit/runtime/test_pause_and_shutdown.py::"
INTERRUPTED = "tests/unit/runtime/test_interrupted_calls.py::"
ABSENT = "tests/unit/runtime/test_absent_owners.py::"
BROKEN = "tests/unit/runtime/test_broken_records.py::"
PEOPLE = "tests/unit/runtime/test_people_in_turns.py::"
LIMITS = "tests/unit/runtime/test_turn_limits.py::"
ENDS = "tests/unit/runtime/test_stop_reasons.py::"
SCENARIO = "tests/requirements/test_scenarios.py::"
BUG = "tests/requirements/test_known_bugs.py::"
MEASURE = "tests/requirements/test_measures.py::"
SHAPES = "tests/benchmarks/test_shapes.py::"

ALL_POINTS = "tests/stack/test_all_hook_points.py::test_every_point_fires_and_what_it_says_holds_over_a_kill"
LOCKS = "tests/contract/test_locks_contract.py::"

SHOWN_BY: dict[str, list[str]] = {
    # locks
    "R57": [
        LOCKS + "test_a_release_hands_over_to_the_next_in_order",
        "tests/chaos/test_locks_torture.py::test_tasks_of_killed_workers_never_meet_at_a_file",
    ],
    "R64": [
        "tests/stack/test_locks_of_tasks.py::test_an_unlisted_command_is_asked_about_waits_for_its_directory_and_runs"
    ],
    "R66": [ALL_POINTS, "tests/unit/runtime/test_shell_hooks.py::test_whatever_is_no_verdict_has_blocked"],
    "R67": [ALL_POINTS],
    "R68": [ALL_POINTS],
    "R69": [ALL_POINTS],
    "R125": [
        ALL_POINTS,
        "tests/unit/runtime/test_guards_of_turns.py::test_the_goal_is_judged_before_the_first_request",
        "tests/unit/runtime/test_guards_of_turns.py::test_a_goal_that_is_rejected_fails_and_a_retry_asks_again",
        "tests/unit/runtime/test_guards_of_turns.py::test_what_people_write_is_changed_or_withheld",
    ],
    "R70": [
        ALL_POINTS,
        "tests/unit/model/test_event_kinds.py::test_only_what_tasks_learn_is_reserved",
        "tests/unit/runtime/test_decision_events.py::test_a_request_is_told_once_whatever_crashes",
    ],
    "R100": [
        "tests/unit/runtime/test_decision_events.py::test_what_a_rule_decides_is_told_once",
        "tests/unit/runtime/test_decision_events.py::test_a_violation_is_told_once_whatever_crashes",
        "tests/unit/runtime/test_project_rules.py::test_the_model_is_told_whose_rule_forbids_a_call",
    ],
    "R101": [
        "tests/unit/runtime/test_decision_events.py::test_a_remembered_answer_decides_by_name",
        "tests/unit/runtime/test_people_in_turns.py::test_an_unanswered_permission_is_denied_at_its_deadline",
    ],
    "R102": [
        "tests/unit/decide/test_lock_needs.py::test_needs_follow_from_the_declaration",
        "tests/unit/runtime/test_locked_calls.py::test_a_call_that_waits_too_long_gets_an_error_that_names_the_holder",
    ],
    "R152": ["tests/cli/test_locks_command.py::test_locks_shows_holders_and_those_who_wait"],
    "R153": [LOCKS + "test_recovery_frees_the_locks_of_a_dead_holder_when_its_call_is_settled"],
    "R256": [
        "tests/unit/decide/test_lock_needs.py::test_needs_follow_from_the_declaration",
        "tests/protocol/test_locks_property.py::test_no_two_calls_meet_and_every_task_comes_to_its_end",
    ],
    # the recovery matrix
    "R134": [PLACES + "test_republish_doubles_up_to_the_limit", MACHINE + "test_every_row_is_reached"],
    "R135": [ABSENT + "test_a_call_whose_process_died_is_made_again_and_counted"],
    "R136": [CRASH + "test_every_crash_point_ends_as_the_reference", MACHINE + "test_every_row_is_reached"],
    "R137": [
        INTERRUPTED + "test_what_may_be_repeated_is_run_again_under_the_same_key",
        INTERRUPTED + "test_a_checkable_call_is_looked_at_first",
        INTERRUPTED + "test_an_opaque_call_is_never_run_again",
    ],
    "R138": [MACHINE + "test_calls_are_taken_in_the_order_of_the_reply"],
    "R139": [
        "tests/contract/test_recover_flags_contract.py::test_open_prompts_survive",
        PEOPLE + "test_prompt_ids_are_the_same_for_the_same_call",
    ],
    "R140": [PAUSE + "test_a_paused_task_is_left_alone"],
    "R141": [LIFECYCLE + "test_only_people_lead_out_of_an_ended_task"],
    "R142": [SCENARIO + "test_a_crash_after_the_assignment_keeps_it"],
    "R143": [CRASH + "test_every_crash_point_ends_as_the_reference"],
    "R144": [INTERRUPTED + "test_a_command_that_never_started_is_run", CRASH + "test_every_port_method_is_recorded"],
    "R145": [CRASH + "test_recovered_runs_end_as_the_reference"],
    "R146": [REFUSED + "test_a_refused_write_changes_nothing"],
    "R147": [
        RECOVER + "test_an_old_save_is_not_resumed_by_itself",
        RECOVER + "test_a_missing_conversation_fails",
        BROKEN + "test_an_orphan_whose_marker_is_broken_is_failed",
    ],
    "R148": [RECOVER + "test_a_process_that_is_gone_needs_one_visit", RECOVER + "test_expired_needs_two_visits"],
    "R149": [INVARIANT + "test_a_sound_store_has_no_breach", PLACES + "test_a_blocked_task_is_polled"],
    # what success is measured by
    "R114": [
        ANOMALY + "test_writes_of_a_minute_are_counted_by_their_begins",
        ANOMALY + "test_files_outside_of_the_directory_are_seen",
        ANOMALY + "test_refused_hosts_and_much_output_are_seen",
    ],
    "R158": [ANOMALY + "test_the_tokens_of_a_turn_count_without_those_of_the_cache"],
    "R159": [ANOMALY + "test_failures_in_a_row_are_counted_whatever_failed"],
    "R160": [ANOMALY + "test_work_that_brings_nothing_new_is_seen_by_its_time"],
    "R161": ["tests/unit/runtime/test_anomalies_in_turns.py::test_whenever_a_worker_dies_it_is_paused_once"],
    "R210": ["tests/unit/runtime/test_anomalies_in_turns.py::test_recoveries_neither_reset_nor_feed_it"],
    "R190": [
        SCENARIO + "test_from_start_to_crash_to_recovery",
        RECOVER + "test_a_process_that_is_gone_needs_one_visit",
    ],
    "R191": [SCENARIO + "test_units_at_four_fifths_lose_nothing"],
    "R192": [
        MEASURE + "test_large_results_stay_out_of_the_server",
        MEASURE + "test_a_turn_with_a_tool_is_three_writes",
        LIMITS + "test_a_reply_over_the_limit_is_not_stored",
    ],
    "R193": [RECOVER + "test_a_renewal_clears_the_suspicion", RECOVER + "test_a_running_lease_has_not_expired"],
    # edge cases
    "R211": [
        RECOVER + "test_a_repeat_recovers_nothing_more",
        STACK + "test_twenty_sweeps_with_frozen_views_take_each_task_once",
    ],
    "R212": [COMMIT + "test_writes_all_kinds_of_change", REFUSED + "test_a_refused_write_changes_nothing"],
    "R213": [BUG + "test_clocks_of_workers_decide_nothing", RENEW + "test_the_send_time_is_taken_before_sending"],
    "R214": [BUG + "test_the_sweep_reads_no_conversation"],
    "R215": [RECOVER + "test_a_repeat_recovers_nothing_more", CRASH + "test_both_ways_of_finding_an_orphan_were_used"],
    "R216": [RECOVER + "test_a_missing_conversation_fails"],
    "R217": [BROKEN + "test_a_broken_record_fails_its_task_and_nothing_else_changes"],
    "R218": [
        PAUSE + "test_shutdown_while_the_reply_streams",
        SHUTDOWN + "test_the_reply_in_hand_is_committed_and_the_next_worker_goes_on_at_once",
    ],
    "R219": [
        CLAIM + "test_a_doubled_message_finds_the_task_leased",
        STACK + "test_a_message_that_comes_twice_and_late_grants_one_claim",
    ],
    "R220": [BROKEN + "test_one_broken_orphan_holds_no_other_up"],
    "R221": [
        BUG + "test_a_busy_server_is_waited_for",
        "tests/unit/runtime/test_patience.py::test_patience_ends",
    ],
    "R222": [
        CANCEL + "test_a_stale_worker_of_a_cancelled_task_starts_nothing",
        COMMIT + "test_a_task_that_is_over_takes_no_commit",
    ],
    "R223": [SCENARIO + "test_a_full_server_leaves_what_is_stored_valid", BUG + "test_no_effect_without_its_marker"],
    "R224": [
        MEASURE + "test_a_turn_with_a_tool_is_three_writes",
        SHAPES + "test_a_turn_writes_its_words_and_little_more",
        SHAPES + "test_a_sweep_over_healthy_tasks_looks_at_none",
        "tests/chaos/test_chaos.py::test_kills_of_everything_lose_nothing_and_repeat_nothing",
    ],
    "R227": ["tests/unit/runtime/test_secrets.py::test_no_secret_is_stored_logged_or_used_as_a_name"],
    "R233": [  # each subject of each tier
        SCENARIO + "test_a_stored_state_is_read_back_as_it_was",
        PLACES + "test_create_is_idempotent",
        PLACES + "test_delete_leaves_a_tombstone",
        LIFECYCLE + "test_every_row_is_made_by_a_script",
        LIMITS + "test_counters_add_up_over_turns_and_processes",
        SCENARIO + "test_from_start_to_crash_to_recovery",
        CRASH + "test_every_crash_point_ends_as_the_reference",
        "tests/chaos/test_chaos.py::test_kills_of_everything_lose_nothing_and_repeat_nothing",
        "tests/faults/test_lost_tail.py::test_a_torn_file_runs_no_command_twice",
        "tests/faults/test_disk_full.py::test_a_full_disk_stops_everything_and_loses_nothing",
        SCENARIO + "test_units_at_four_fifths_lose_nothing",
    ],
    "R234": [SCENARIO + "test_a_stored_state_is_read_back_as_it_was"],
    "R235": [SCENARIO + "test_counters_survive_a_process"],
    "R236": [SCENARIO + "test_an_orphan_in_its_fourth_turn_is_resumable"],
    "R237": [SCENARIO + "test_a_crash_in_read_file_is_seen_on_reload"],
    "R238": [SCENARIO + "test_ten_rounds_of_random_deaths"],
    "R239": [SCENARIO + "test_a_full_server_leaves_what_is_stored_valid"],
    "R240": [SCENARIO + "test_from_start_to_crash_to_recovery"],
    "R241": [SCENARIO + "test_units_at_four_fifths_lose_nothing"],
    "R242": [
        SCENARIO + "test_a_crash_after_the_assignment_keeps_it",
        SCENARIO + "test_a_file_that_was_being_written_is_finished",
    ],
    "R243": [
        "tests/stack/test_prefork_child.py::test_the_parent_recovers_what_a_killed_child_held",
        CRASH + "test_every_crash_point_ends_as_the_reference",
        "tests/stack/test_death_at_each_marker.py::test_a_task_goes_on_from_each_marker_and_repeats_nothing",
        "tests/stack/test_broker_hazards.py::test_without_beat_tasks_go_on_and_two_beats_sweep_as_one",
        STACK + "test_a_message_that_comes_twice_and_late_grants_one_claim",
        "tests/protocol/test_protocol_property.py::test_on_the_real_server",
    ],
    # bugs
    "B1": ["tests/rules/test_marker_agrees.py::test_a_plain_run"],
    "B2": [BUG + "test_ended_tasks_are_no_orphans", RECOVER + "test_an_old_save_is_not_resumed_by_itself"],
    "B3": [BUG + "test_a_commit_keeps_what_it_does_not_mean_to_change"],
    "B4": [
        "tests/unit/decide/test_conversation.py::test_any_conversation_becomes_one_that_the_api_takes",
        ABSENT + "test_a_call_whose_process_died_is_made_again_and_counted",
        PEOPLE + "test_ask_user_beside_other_calls_leaves_none_without_a_result",
    ],
    "B5": [BUG + "test_a_pause_is_no_failure", LIMITS + "test_no_call_is_made_past_a_limit"],
    "B6": [BUG + "test_nothing_waits_for_a_viewer"],
    "B7": [ENDS + "test_a_natural_end_completes_an_autonomous_task", ENDS + "test_consecutive_continues_are_capped"],
    "B8": [
        LIMITS + "test_passing_faults_wait_out_timers_and_keep_the_request",
        "tests/unit/decide/test_retry.py::test_waits_of_each_kind",
    ],
    "B9": [LIFECYCLE + "test_scripts_make_no_move_without_a_row", INVARIANT + "test_a_planted_breach_is_found"],
    "B10": [CLAIM + "test_a_task_outside_the_outbox_is_not_runnable"],
    "B11": [BUG + "test_the_oldest_waits_least", LIMITS + "test_rate_limits_use_up_no_attempt"],
    "B12": [BUG + "test_a_thousand_events_have_a_thousand_ids"],
    "B13": [
        "tests/unit/tools/test_toolbox.py::test_no_mark_is_torn_off_its_letter",
        "tests/unit/spool/test_spool_output.py::test_output_is_never_cut_inside_a_character",
    ],
    "B14": ["tests/unit/runtime/test_tools_in_turns.py::test_read_before_edit_is_known_from_the_conversation"],
    "B15": [BUG + "test_a_safe_beginning_makes_no_command_safe"],
    "B16": [BUG + "test_tools_are_called_by_one_name"],
    "B17": [BUG + "test_waiting_holds_no_worker", SIGNAL + "test_an_open_prompt_takes_its_answer_in_every_status"],
    "B18": [
        "tests/unit/dev/test_host.py::test_a_later_process_with_the_same_id_is_another",
        "tests/cli/test_dev.py::test_a_second_dev_on_the_same_folder_is_refused",
    ],
    "B20": ["tests/rules/test_source_rules.py::test_nothing_is_skipped_without_a_reason"],
    "B21": [
        "tests/unit/tools/test_write_tools.py::test_bytes_are_flushed_before_the_rename_and_the_name_after",
        RECOVER + "test_a_missing_conversation_fails",
    ],
    "B22": [
        CANCEL + "test_cancel_while_a_command_runs_ends_its_processes",
        FINISH + "test_refusals_write_nothing",
        BUG + "test_a_refused_move_stops_the_worker",
    ],
}


@pytest.mark.parametrize("row", SHOWN_BY)
def test_the_tests_of_a_row_exist(row: str) -> None:
    """A row is shown by tests that are there, under the very names given here."""
    assert set(SHOWN_BY[row]) - ids_of_tests() == set()


def test_every_row_is_shown() -> None:
    """No row of the table is left without a test."""
    assert SHOWN_BY.keys() == ROWS.keys()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.row)
def test_what_a_bug_takes_the_place_of_is_there_once(bug: Bug) -> None:
    """Told in a moment to whoever changes that line, not by the slow run of test_bugs_put_back.py."""
    assert (ROOT / bug.file).read_text(encoding="utf-8").count(bug.old) == 1
