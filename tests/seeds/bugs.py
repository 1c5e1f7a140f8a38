"""The bugs of the design documents' own code (S-B rows), each as a change of our product that brings it back."""

from __future__ import annotations

from dataclasses import dataclass

SAID = "this bug was put back: "
"""Begins what a run tells of the bug that it works with."""
BUG = "tests/seeds/test_seed_bugs.py::"
LIMITS = "tests/unit/runtime/test_turn_limits.py::"


@dataclass(frozen=True)
class Bug:
    """One bug.

    Args:
        row: of the design documents.
        what: the bug, in a few words.
        file: of our product, from the repository's root.
        old, new: text that occurs there once, and what brings the bug back.
        test: must fail then.
    """

    row: str
    what: str
    file: str
    old: str
    new: str
    test: str


BUGS = (
    Bug(
        "S-B1", "nothing sets a marker in the loop", "neuraphage/runtime/model_step.py",
        "            marker=Marker(name=MarkerName.REQUEST_SENT, request_id=entry.request_id),\n", "",
        "tests/rules/test_marker_agrees.py::test_a_plain_run",
    ),
    Bug(
        "S-B2", "an ended task is found again at each start", "neuraphage/store/prelude.lua",
        "  place(nil)\n  local gone", "  place(OUTBOX, 1)\n  local gone",
        BUG + "test_ended_tasks_are_no_orphans",
    ),
    Bug(
        "S-B3", "counters become 0 while a task waits", "neuraphage/store/suspend.lua",
        "    local last = { verdict = set.verdict }",
        "    local last = { verdict = set.verdict, input_tokens = 0, output_tokens = 0, cost_microusd = 0 }",
        BUG + "test_a_commit_keeps_what_it_does_not_mean_to_change",
    ),
    Bug(
        "S-B4", "a tool call without a result breaks every later request", "neuraphage/decide/conversation.py",
        "[results.get(call) or _interrupted(call) for call in wanted]",
        "[results[call] for call in wanted if call in results]",
        "tests/unit/decide/test_conversation.py::test_any_conversation_becomes_one_that_the_api_takes",
    ),
    Bug(
        "S-B5", "a pause is stored as Failed", "neuraphage/store/stop.lua",
        "    pause_task(row, now, 'user', { seq = seq }, given.events_max)",
        "    end_task(row, 'Failed', now, '{\"error\":\"paused\",\"recoverable\":true}', { seq = seq }, given)",
        BUG + "test_a_pause_is_no_failure",
    ),
    Bug(
        "S-B6", "events are written only while somebody watches", "neuraphage/store/prelude.lua",
        "local function event(kind, data, events_max)\n",
        "local function event(kind, data, events_max)\n  if redis.call('EXISTS', LIVE) == 0 then return end\n",
        BUG + "test_nothing_waits_for_a_viewer",
    ),
    Bug(
        "S-B7", "end_turn loops", "neuraphage/decide/turn_end.py",
        "return Complete(text) if snapshot.record.spec.mode is Mode.AUTONOMOUS else Rest(text)",
        "return NextTurn() if snapshot.record.spec.mode is Mode.AUTONOMOUS else Rest(text)",
        "tests/unit/runtime/test_stop_reasons.py::test_a_natural_end_completes_an_autonomous_task",
    ),
    Bug(
        "S-B8", "a broken stream is not tried again", "neuraphage/runtime/model_step.py",
        "retry_at_ms = None if decision.delay_s is None else", "retry_at_ms = None if True else",
        LIMITS + "test_passing_faults_wait_out_timers_and_keep_the_request",
    ),
    Bug(
        "S-B9", "status and index are two writes", "neuraphage/store/prelude.lua",
        "    redis.call('ZREM', STATUS[row.status], ID)\n", "",
        "tests/unit/decide/test_lifecycle.py::test_scripts_make_no_move_without_a_row",
    ),
    Bug(
        "S-B10", "waiting and paused tasks count as ready", "neuraphage/store/claim.lua",
        "if not redis.call('ZSCORE', OUTBOX, ID) then", "if has_lease() then",
        "tests/contract/test_claim_contract.py::test_a_task_outside_the_outbox_is_not_runnable",
    ),
    Bug(
        "S-B11", "the queue is last in, first out", "neuraphage/store/places.py",
        "return [m.decode() for m in (due + strange)[:limit]]",
        "return [m.decode() for m in (due + strange)[:limit]][::-1]",
        BUG + "test_the_oldest_waits_least",
    ),
    Bug(
        "S-B12", "event ids are cut, so that events replace each other", "neuraphage/store/reading.py",
        "    name = event_id.decode()", "    name = event_id.decode()[:10] + \"-0\"",
        BUG + "test_a_thousand_events_have_a_thousand_ids",
    ),
    Bug(
        "S-B13", "output is cut inside a character", "neuraphage/spool/output.py",
        "codecs.utf_8_decode(head, \"replace\", False)[0]", "head.decode(errors=\"replace\")",
        "tests/unit/spool/test_spool_output.py::test_output_is_never_cut_inside_a_character",
    ),
    Bug(
        "S-B14", "what was read is known in memory only", "neuraphage/runtime/tool_step.py",
        "files_seen=files_seen(self._work.entries) if needs_files else {},", "files_seen={},",
        "tests/unit/runtime/test_tools_in_turns.py::test_read_before_edit_is_known_from_the_conversation",
    ),
    Bug(
        "S-B15", "a command that begins harmlessly is run unasked", "neuraphage/decide/policy.py",
        "    if not tool.side_effecting or ALL_TOOLS in allow or tool.name in allow:",
        "    safe = str(command or \"\").startswith((\"git status\", \"ls\", \"cat\"))\n"
        "    if safe or not tool.side_effecting or ALL_TOOLS in allow or tool.name in allow:",
        BUG + "test_a_safe_beginning_makes_no_command_safe",
    ),
    Bug(
        "S-B16", "a tool has two names", "neuraphage/tools/registry.py",
        "        return self._tools.get(name)",
        "        return self._tools.get({\"bash\": \"run_command\"}.get(name, name))",
        BUG + "test_tools_are_called_by_one_name",
    ),
    Bug(
        "S-B17", "a waiting task holds a place of its worker", "neuraphage/runtime/runner.py",
        "        outcome = settled_outcome(settled, work.marker.name, iteration, name=name, error=work.error)\n",
        "        if settled.place == 'waits':\n"
        "            self.kept = [*getattr(self, 'kept', ()), self._keeper.hold(claimed.lease, sent_s)]\n"
        "            self.kept[-1].__enter__()\n"
        "        outcome = settled_outcome(settled, work.marker.name, iteration, name=name, error=work.error)\n",
        BUG + "test_waiting_holds_no_worker",
    ),
    Bug(
        "S-B18", "a process id that is used again is the old process", "neuraphage/runtime/host.py",
        "        return start_time != identity.start_time", "        return False",
        "tests/unit/dev/test_host.py::test_a_later_process_with_the_same_id_is_another",
    ),
    Bug(
        "S-B20", "chaos tests do not run", "tests/chaos/test_chaos.py",
        "\n\ndef test_", "\n\n@pytest.mark.skip\ndef test_",
        "tests/rules/test_source_rules.py::test_nothing_is_skipped_without_a_reason",
    ),
    Bug(
        "S-B21", "files are written in place", "neuraphage/tools/atomic_write.py",
        "            temp.replace(target)\n    except (OSError",
        "            target.write_bytes(data)\n    except (OSError",
        "tests/unit/tools/test_write_tools.py::test_bytes_are_flushed_before_the_rename_and_the_name_after",
    ),
    Bug(
        "S-B22", "a worker goes on although its write was refused", "neuraphage/runtime/unit_of_work.py",
        "        if answer.verdict in (CommitVerdict.STALE, CommitVerdict.LOST):", "        if False:",
        BUG + "test_a_refused_move_stops_the_worker",
    ),
)  # fmt: skip
