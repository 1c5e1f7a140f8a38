"""The known bugs (the B of `rows.py`), each as a change of the product that brings it back."""

from __future__ import annotations

from dataclasses import dataclass

SAID = "this bug was put back: "
"""Begins what a run tells of the bug that it works with."""
BUG = "tests/requirements/test_known_bugs.py::"
LIMITS = "tests/unit/runtime/test_turn_limits.py::"


@dataclass(frozen=True)
class Bug:
    """One bug.

    Args:
        row: its id in `rows.ROWS`.
        file: of the product, from the repository's root.
        old, new: text that occurs there once, and what brings the bug back.
        test: must fail then.
    """

    row: str
    file: str
    old: str
    new: str
    test: str


BUGS = (
    Bug(
        "B1", "neuraphage/runtime/announcer.py",
        "            marker=Marker(name=name, request_id=entry.request_id),\n", "",
        "tests/rules/test_marker_agrees.py::test_a_plain_run",
    ),
    Bug(
        "B2", "neuraphage/store/prelude.lua",
        "  place(nil)\n  local gone", "  place(OUTBOX, 1)\n  local gone",
        BUG + "test_ended_tasks_are_no_orphans",
    ),
    Bug(
        "B3", "neuraphage/store/suspend.lua",
        "    local last = { verdict = set.verdict }",
        "    local last = { verdict = set.verdict, input_tokens = 0, output_tokens = 0, cost_microusd = 0 }",
        BUG + "test_a_commit_keeps_what_it_does_not_mean_to_change",
    ),
    Bug(
        "B4", "neuraphage/decide/conversation.py",
        "[results.get(call) or _interrupted(call) for call in wanted]",
        "[results[call] for call in wanted if call in results]",
        "tests/unit/decide/test_conversation.py::test_any_conversation_becomes_one_that_the_api_takes",
    ),
    Bug(
        "B5", "neuraphage/store/stop.lua",
        "    pause_task(row, now, 'user', { seq = seq }, given.events_max)",
        "    end_task(row, STATUS.Failed, now, '{\"error\":\"paused\",\"recoverable\":true}', { seq = seq }, given)",
        BUG + "test_a_pause_is_no_failure",
    ),
    Bug(
        "B6", "neuraphage/store/prelude.lua",
        "local function event(kind, data, events_max, cause)\n",
        "local function event(kind, data, events_max, cause)\n  if redis.call('EXISTS', LIVE) == 0 then return end\n",
        BUG + "test_nothing_waits_for_a_viewer",
    ),
    Bug(
        "B7", "neuraphage/decide/turn_end.py",
        "return Complete(text) if snapshot.record.spec.mode is Mode.AUTONOMOUS else Rest(text)",
        "return NextTurn() if snapshot.record.spec.mode is Mode.AUTONOMOUS else Rest(text)",
        "tests/unit/runtime/test_stop_reasons.py::test_a_natural_end_completes_an_autonomous_task",
    ),
    Bug(
        "B8", "neuraphage/runtime/model_step.py",
        "retry_at_ms = None if decision.delay_s is None else", "retry_at_ms = None if True else",
        LIMITS + "test_passing_faults_wait_out_timers_and_keep_the_request",
    ),
    Bug(
        "B9", "neuraphage/store/prelude.lua",
        "    redis.call('ZREM', STATUS_KEY[row.status], ID)\n", "",
        "tests/unit/decide/test_lifecycle.py::test_scripts_make_no_move_without_a_row",
    ),
    Bug(
        "B10", "neuraphage/store/claiming.lua",
        "if not redis.call('ZSCORE', OUTBOX, ID) then", "if has_lease() then",
        "tests/contract/test_claim_contract.py::test_a_task_outside_the_outbox_is_not_runnable",
    ),
    Bug(
        "B11", "neuraphage/store/places.py",
        "return [m.decode() for m in (due + strange)[:limit]]",
        "return [m.decode() for m in (due + strange)[:limit]][::-1]",
        BUG + "test_the_oldest_waits_least",
    ),
    Bug(
        "B12", "neuraphage/store/queries.py",
        "    name = event_id.decode()", "    name = event_id.decode()[:10] + \"-0\"",
        BUG + "test_a_thousand_events_have_a_thousand_ids",
    ),
    Bug(
        "B13", "neuraphage/spool/output.py",
        "codecs.utf_8_decode(head, \"replace\", False)[0]", "head.decode(errors=\"replace\")",
        "tests/unit/spool/test_spool_output.py::test_output_is_never_cut_inside_a_character",
    ),
    Bug(
        "B14", "neuraphage/runtime/tool_step.py",
        "files_seen=files_seen(self._work.entries) if needs_files else {},", "files_seen={},",
        "tests/unit/runtime/test_tools_in_turns.py::test_read_before_edit_is_known_from_the_conversation",
    ),
    Bug(
        "B15", "neuraphage/decide/policy.py",
        "    is_unread = command is not None and called.line is None\n",
        "    if str(command or \"\").startswith((\"git status\", \"ls\", \"cat\")):\n"
        "        return Ruled(Ruling.ALLOWED)\n"
        "    is_unread = command is not None and called.line is None\n",
        BUG + "test_a_safe_beginning_makes_no_command_safe",
    ),
    Bug(
        "B16", "neuraphage/tools/registry.py",
        "        return self._tools.get(name)",
        "        return self._tools.get({\"bash\": \"run_command\"}.get(name, name))",
        BUG + "test_tools_are_called_by_one_name",
    ),
    Bug(
        "B17", "neuraphage/runtime/runner.py",
        "        outcome = settled_outcome(settled, work.marker.name, iteration, name=name, error=work.error)\n",
        "        if settled.place == 'waits':\n"
        "            self.kept = [*getattr(self, 'kept', ()), self._keeper.hold(claimed.lease, sent_s)]\n"
        "            self.kept[-1].__enter__()\n"
        "        outcome = settled_outcome(settled, work.marker.name, iteration, name=name, error=work.error)\n",
        BUG + "test_waiting_holds_no_worker",
    ),
    Bug(
        "B18", "neuraphage/runtime/host.py",
        "        return start_time != identity.start_time", "        return False",
        "tests/unit/dev/test_host.py::test_a_later_process_with_the_same_id_is_another",
    ),
    Bug(
        "B20", "tests/chaos/test_chaos.py",
        "\n\ndef test_", "\n\n@pytest.mark.skip\ndef test_",
        "tests/rules/test_source_rules.py::test_nothing_is_skipped_without_a_reason",
    ),
    Bug(
        "B21", "neuraphage/tools/atomic_write.py",
        "            os.replace(temp, name, src_dir_fd=fd, dst_dir_fd=fd)\n    except (OSError",
        "            place.path.write_bytes(data)\n    except (OSError",
        "tests/unit/tools/test_write_tools.py::test_bytes_are_flushed_before_the_rename_and_the_name_after",
    ),
    Bug(
        "B22", "neuraphage/runtime/unit_of_work.py",
        "        if answer.verdict in (CommitVerdict.STALE, CommitVerdict.LOST):", "        if False:",
        BUG + "test_a_refused_move_stops_the_worker",
    ),
)  # fmt: skip
