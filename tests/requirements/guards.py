"""Guards outside the scripts (of the watcher, the heartbeat, turns, the process beside a worker), each as a
change of the product that takes it away, with a test that misses it. The tests are there for what the guard is for."""

from __future__ import annotations

from bugs import Bug

UNIT = "tests/unit/runtime/"
STAND_IN = "tests/unit/standby/test_stand_in.py::"
WATCHER = "neuraphage/runtime/watcher.py"
OWNERS = "neuraphage/runtime/owners.py"
KEEPER = "neuraphage/runtime/lease_keeper.py"
RUNNER = "neuraphage/runtime/runner.py"
CHAIN = "neuraphage/runtime/turn_chain.py"
TURN = "neuraphage/runtime/turn.py"
MODEL = "neuraphage/runtime/model_step.py"
WORK = "neuraphage/runtime/unit_of_work.py"
STANDBY = "neuraphage/standby/program.py"

GUARDS = (
    # rates
    Bug(
        "rate-holds-a-call", "neuraphage/decide/next_call.py",
        "most, due_ms) if due_ms > snapshot.now_ms else None", "most, due_ms) if False else None",
        UNIT + "test_rates_in_turns.py::test_the_call_over_the_rate_waits",
    ),
    Bug(
        "rate-survives-a-kill", "neuraphage/runtime/tool_step.py",
        "        if before is not None and before.began is not None:\n            return before.began\n", "",
        UNIT + "test_rates_in_turns.py::test_a_killed_worker_forgets_nothing",
    ),
    Bug(
        "rate-forgets-what-was-put-back", "neuraphage/runtime/tool_step.py",
        '"put_back": True, "began": None}', '"put_back": True}',
        UNIT + "test_rates_in_turns.py::test_what_was_put_back_counts_from_its_real_begin",
    ),
    Bug(
        "rate-counts-by-kind", "neuraphage/decide/rates.py",
        "if began and began[0] == kind:", "if began:",
        "tests/unit/decide/test_rates.py::test_each_kind_is_counted_by_itself",
    ),
    # the watcher
    Bug(
        "watcher-judges-its-own-host", WATCHER,
        "        if row.host == self._host:\n            return", "        if True:\n            return",
        UNIT + "test_watcher.py::test_a_process_of_another_host_counts_as_gone_after_its_absence",
    ),
    Bug(
        "watcher-looks-here-for-its-own-host", WATCHER,
        "self._store.registered() if row.host == self._host]", "self._store.registered()]",
        UNIT + "test_watcher.py::test_a_process_of_another_host_is_not_judged_by_local_pids",
    ),
    Bug(
        "watcher-connected-for-a-lease", WATCHER,
        " and connected_s >= self._settings.lease_s", "",
        UNIT + "test_watcher.py::test_a_watcher_that_was_just_connected_trusts_no_absence",
    ),
    Bug(
        "watcher-absent-for-long", WATCHER,
        "absent_s >= self._settings.absent_host_s and ", "",
        UNIT + "test_watcher.py::test_a_process_of_another_host_counts_as_gone_after_its_absence",
    ),
    Bug(
        "watcher-outage-ends-its-connection", WATCHER,
        "            self._connected_since_s = None\n            self._absent", "            self._absent",
        UNIT + "test_watcher.py::test_a_server_that_was_away_begins_the_wait_anew",
    ),
    Bug(
        "watcher-outage-ends-absences", WATCHER,
        "            self._absent_since_s.clear()\n", "",
        UNIT + "test_watcher.py::test_what_was_absent_before_an_outage_is_absent_anew",
    ),
    Bug(
        "watcher-leaves-commands-that-are-waited-for", WATCHER,
        "not in {\"\", self._spool.identity}", "!= self._spool.identity",
        UNIT + "test_watcher_rounds.py::test_commands_that_nobody_can_wait_for_are_ended",
    ),
    Bug(
        "watcher-off", WATCHER,
        "        if watching:\n            self.look()", "        if True:\n            self.look()",
        UNIT + "test_watcher_rounds.py::test_without_recovery_nobody_is_judged",
    ),
    # who lives
    Bug(
        "owners-start-time", OWNERS,
        "not process_gone(ProcessIdentity(row.pid, row.start_time))", "__import__(\"psutil\").pid_exists(row.pid)",
        UNIT + "test_owners.py::test_who_is_not_known_to_live_has_crashed",
    ),
    Bug(
        "owners-own-host", OWNERS,
        "if row.host == self._host", "if True",
        UNIT + "test_owners.py::test_a_process_elsewhere_lives_while_its_connection_stands",
    ),
    Bug(
        "owners-without-rights", OWNERS,
        "except AccessRefused as error:", "except ZeroDivisionError as error:",
        UNIT + "test_owners.py::test_a_server_that_forbids_the_look_lets_every_expiry_count",
    ),
    # leases
    Bug(
        "keeper-overdue-is-not-renewed", KEEPER,
        "self._held.items() if claim not in self._overdue]", "self._held.items()]",
        UNIT + "test_lease_keeper.py::test_an_overdue_effect_leaves_the_count_and_who_stands_in",
    ),
    Bug(
        "keeper-settling-is-not-lost", KEEPER,
        "if still and not held.settling:", "if still:",
        UNIT + "test_lease_keeper.py::test_a_lease_that_its_own_turn_gives_back_is_not_lost",
    ),
    Bug(
        "keeper-given-back-is-not-lost", KEEPER,
        "if still and not held.settling:", "if not held.settling:",
        UNIT + "test_lease_keeper.py::test_a_lease_that_its_own_turn_gives_back_is_not_lost",
    ),
    Bug(
        "keeper-counts-from-the-sending", KEEPER,
        "held.renewed(sent_at)", "held.renewed(self._clock.boottime_s())",
        UNIT + "test_lease_keeper.py::test_a_renewal_lengthens_what_may_start",
    ),
    Bug(
        "keeper-drains-with-its-parent", KEEPER,
        "return self._drain.is_set() or self._parent_draining()", "return self._drain.is_set()",
        UNIT + "test_lease_keeper.py::test_a_process_drains_by_itself_and_with_its_parent",
    ),
    # messages
    Bug(
        "runner-repeats-the-claim-id", RUNNER,
        "claim.process_id, claim.claim_id,", "claim.process_id, self._services.new_claim_id(),",
        UNIT + "test_repeated_claims.py::test_a_claim_whose_answer_was_lost_keeps_its_id",
    ),
    Bug(
        "runner-lease-from-the-first-try", RUNNER,
        "claimed.lease, claim.sent_s)", "claimed.lease, self._services.clock.boottime_s())",
        UNIT + "test_runner.py::test_a_lease_runs_from_the_first_try_of_its_claim",
    ),
    Bug(
        "runner-another-worker-has-it", RUNNER,
        "if further.settled is None and not further.is_done:", "if False:",
        UNIT + "test_runner.py::test_a_turn_that_another_worker_has_is_left_to_it",
    ),
    Bug(
        "runner-dealt-with-unsettled", RUNNER,
        "if further.settled is None and not further.is_done:", "if further.settled is None:",
        UNIT + "test_runner.py::test_a_next_turn_that_cannot_be_read",
    ),
    Bug(
        "runner-leaving-takes-nothing", RUNNER,
        "        if self._keeper.draining():\n            self._publish(",
        "        if False:\n            self._publish(",
        UNIT + "test_pause_and_shutdown.py::test_a_draining_process_takes_nothing",
    ),
    Bug(
        "runner-publishes-what-waits-for-a-message", RUNNER,
        "if settled is not None and in_outbox(settled):", "if settled is not None:",
        UNIT + "test_runner.py::test_a_pause_ends_the_message",
    ),
    Bug(
        "runner-leaves-newer-records", RUNNER,
        "if isinstance(unreadable.__cause__, SchemaTooNew):", "if False:",
        UNIT + "test_runner.py::test_a_next_turn_that_cannot_be_read",
    ),
    Bug(
        "chain-is-bounded", CHAIN,
        " or self._count >= MOST_TURNS", "",
        UNIT + "test_runner.py::test_a_message_has_a_bounded_number_of_turns",
    ),
    Bug(
        "chain-ends-with-its-process", CHAIN,
        " or self._keeper.draining()", "",
        UNIT + "test_runner.py::test_a_process_that_begins_to_leave_claims_no_further_turn",
    ),
    Bug(
        "chain-other-tasks-go-first", CHAIN,
        "return not late and not self._services.dispatcher.has_waiting()", "return not late",
        UNIT + "test_runner.py::test_another_task_goes_first",
    ),
    Bug(
        "chain-ends-in-time", CHAIN,
        "return not late and not", "return not",
        UNIT + "test_runner.py::test_what_ends_a_message_early",
    ),
    Bug(
        "chain-only-when-asked-for", CHAIN,
        "self._services.settings.turns_per_message == 1 or ", "",
        UNIT + "test_runner.py::test_each_turn_has_a_message_of_its_own",
    ),
    Bug(
        "chain-tells-the-keeper", CHAIN,
        "        told.enter_context(self._keeper.claiming(self._task_id, claim_id))\n", "",
        UNIT + "test_runner.py::test_the_keeper_knows_of_the_next_claim_before_it_is_sent",
    ),
    # turns
    Bug(
        "turn-held-back-by-cancel", TURN,
        "if self._work.held.cancel or self._work.held.pause:", "if self._work.held.pause:",
        UNIT + "test_cancel.py::test_a_cancel_that_was_heard_with_the_reply_lets_nothing_begin",
    ),
    Bug(
        "turn-held-back-by-pause", TURN,
        "if self._work.held.cancel or self._work.held.pause:", "if self._work.held.cancel:",
        UNIT + "test_pause_and_shutdown.py::test_pause_while_the_reply_streams",
    ),
    Bug(
        "turn-draining", TURN,
        "Stop.SHUTDOWN if self._draining() else None", "None",
        UNIT + "test_pause_and_shutdown.py::test_shutdown_while_the_reply_streams",
    ),
    Bug(
        "turn-lost", TURN,
        "            if held.lost:\n                raise LeaseLost(",
        "            if False:\n                raise LeaseLost(",
        UNIT + "test_lost_leases.py::test_after_a_loss_nothing_more_is_written",
    ),
    Bug(
        "turn-lost-in-an-effect", TURN,
        "                if held.lost:\n                    raise\n", "",
        "tests/requirements/test_known_bugs.py::test_a_refused_move_stops_the_worker",
    ),
    Bug(
        "model-inputs-of-a-fresh-request-only", MODEL,
        "        if before is None or before.attempt == 0:\n", "        if True:\n",
        UNIT + "test_absent_owners.py::test_a_call_made_again_takes_in_no_new_input",
    ),
    Bug(
        "model-repeats-the-request-id", MODEL,
        "request_id=(before and before.request_id) or request_id(", "request_id=request_id(",
        UNIT + "test_absent_owners.py::test_a_call_whose_process_died_is_made_again_and_counted",
    ),
    # what a claim has announced
    Bug(
        "work-takes-back-the-unsent", WORK,
        "pending, unsent = self._pending.changes(), self._announced is not None",
        "pending, unsent = self._pending.changes(), False",
        UNIT + "test_announced_calls.py::test_a_call_that_a_shutdown_forestalled_is_not_taken_for_billed",
    ),
    Bug(
        "work-stores-notes-before-the-call", WORK,
        "return entry == self._announced and self._pending.is_empty()", "return entry == self._announced",
        UNIT + "test_announced_calls.py::test_what_is_to_be_stored_first_is_stored_with_the_announcement",
    ),
    Bug(
        "work-knows-its-own-announcement", WORK,
        " or entry.fence != self.held.lease.fence:", ":",
        UNIT + "test_absent_owners.py::test_a_call_whose_process_died_is_made_again_and_counted",
    ),
    # the process beside a worker
    Bug(
        "standby-leaves-who-renews", STANDBY,
        "        if now_s - renewed_s < self._late_s:\n", "        if False:\n",
        STAND_IN + "test_a_worker_that_renews_is_left_alone",
    ),
    Bug(
        "standby-leaves-the-stopped", STANDBY,
        "        if is_stopped(self._pid):\n", "        if False:\n",
        STAND_IN + "test_a_worker_that_is_stopped_is_not_stood_in_for",
    ),
    Bug(
        "standby-lets-hung-effects-go", STANDBY,
        "if not row[3] or now_s - float(row[3]) < longest_s]", "]",
        STAND_IN + "test_a_lease_of_a_hung_effect_is_let_go_alone",
    ),
    Bug(
        "standby-asks-whose-claim-it-is", STANDBY,
        "                if found[1] != claim.encode():\n                    continue\n", "",
        STAND_IN + "test_a_claim_that_was_not_granted_is_asked_for_once_a_beat",
    ),
    Bug(
        "standby-kills-its-own-worker-only", STANDBY,
        "        if os.getppid() != self._pid:\n            return\n", "",
        STAND_IN + "test_nobody_is_killed_by_a_number_that_may_be_anothers",
    ),
    Bug(
        "standby-stood-still-itself", STANDBY,
        " or awake_s - self._looked_s > self._tick_s + WAKE_S", "",
        STAND_IN + "test_a_machine_that_stood_still_is_no_stuck_worker",
    ),
    Bug(
        "standby-looks-where-the-kernel-does-not-tell", STANDBY,
        "every_ms: int | None = 50", "every_ms: int | None = None",
        "tests/unit/standby/test_program.py::test_where_the_kernel_does_not_tell_it_looks",
    ),
    Bug(
        "standby-reads-whole-rows-only", "neuraphage/standby/shared_layout.py",
        "    if crc32(body) != checksum:\n        return []\n", "",
        STAND_IN + "test_shared_memory_that_is_being_written_is_looked_at_again",
    ),
    Bug(
        "standby-goes-out-of-a-row", "neuraphage/standby/shared_leases.py",
        "        if self._lines.pop(claim_id, None) is not None:\n            self._write_body()",
        "        self._lines.pop(claim_id, None)",
        STAND_IN + "test_who_holds_nothing_costs_the_server_nothing",
    ),
)  # fmt: skip
