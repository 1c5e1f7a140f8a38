"""The guards of locks."""

from __future__ import annotations

from mutant import Mutant

from neuraphage.ports import SignalKind, SuspendTo


def _locks(name: str, script: str, old: str, new: str, test: str, **given: object) -> Mutant:
    return Mutant(name, script, old, new, f"locks::test_{test}", given)


LOCK_MUTANTS = (
    _locks(
        "what another has is not taken", "commit", "  if locks.obstacle(asked.needs) then", "  if false then",
        "who_may_not_begin_waits_without_a_lease",
    ),
    _locks(
        "a call that waits is not announced", "commit", "      if not asked.before then table.remove",
        "      if false then table.remove",
        "who_may_not_begin_waits_without_a_lease",
    ),
    _locks(
        "the start of a call that waits is not told", "commit",
        "  table.remove(groups.events); table.remove(groups.events)\n", "",
        "who_may_not_begin_waits_without_a_lease",
    ),
    _locks(
        "a call that waits leaves the marker", "commit", "  given.marker = asked.marker\n", "",
        "who_may_not_begin_waits_without_a_lease",
    ),
    _locks(
        "a repeat of a wait is known", "commit", "return told[1] == 'BLOCKED' and told or { 'LOST' }",
        "return { 'LOST' }",
        "who_may_not_begin_waits_without_a_lease",
    ),
    _locks(
        "what was allowed is kept", "commit", "asked.before or groups.journal[i + 1]", "groups.journal[i + 1]",
        "what_a_person_has_allowed_is_kept_while_the_call_waits",
    ),
    _locks(
        "a flag that the next claim resolves is no fault", "repair",
        " or (inside.outbox and status == STATUS.Running)", "", "a_flag_goes_before_waiting", flag=SignalKind.PAUSE,
    ),
    _locks(
        "a lock that was freed meanwhile is no fault", "repair",
        "if locks.stands_at(resource) and not has_place[resource] then", "if not has_place[resource] then",
        "a_lock_that_was_freed_meanwhile_is_no_fault",
    ),
    _locks(
        "a pause goes before waiting", "commit", "resource and not row.pause and not row.cancel",
        "resource and not row.cancel", "a_flag_goes_before_waiting", flag=SignalKind.PAUSE,
    ),
    _locks(
        "an end goes before waiting", "commit", "resource and not row.pause and not row.cancel",
        "resource and not row.pause", "a_flag_goes_before_waiting", flag=SignalKind.CANCEL,
    ),
    _locks(
        "who waits gives up what it has", "commit", "  if row.locks then give_locks_up(now, true) end\n", "",
        "two_that_share_and_want_it_alone_do_not_wait_for_each_other",
    ),
    _locks(
        "who is waited for is passed by by nobody", "locks",
        "if line.id ~= ID and (is_alone(line) or is_alone(need)) then",
        "if line.id ~= ID and line.state == LOCK.holds and (is_alone(line) or is_alone(need)) then",
        "those_who_share_go_together_and_pass_by_nobody",
    ),
    _locks(
        "one who came later is in nobody's way", "locks",
        "      if line.id == ID and line.state ~= LOCK.holds then return nil end -- who came later waits behind it\n",
        "", "a_release_hands_over_to_the_next_in_order",
    ),
    _locks(
        "what is held is not asked for", "locks",
        "    if own and (is_alone(own) or not is_alone(need)) then return nil end\n",
        "", "what_a_task_has_it_need_not_ask_for",
    ),
    _locks(
        "one that has it alone keeps it so", "locks", "if not all[i] or is_alone(need) then all[i] = need end",
        "all[i] = need", "what_a_task_has_it_need_not_ask_for",
    ),
    _locks(
        "all or none", "locks", "if not tonumber(row.seq) or obstacle(own.needs) then return nil end",
        "if not tonumber(row.seq) then return nil end", "who_needs_two_holds_neither_until_it_has_both",
    ),
    _locks(
        "a place without a record goes", "locks", "        if answer[1] == false then", "        if nil then",
        "a_place_that_no_record_stands_behind_keeps_nobody_waiting",
    ),
    _locks(
        "a call that waits for subtasks keeps none",
        "locks",
        " and not entry.children then return true end",
        " then return true end",
        "who_waits_for_subtasks_holds_nothing",
    ),
    _locks(
        "the poll leaves one that holds locks with them",
        "fire",
        "  if own and own.state == LOCK.waiting then",
        "  if own then",
        "one_with_an_unsettled_call_that_waits_for_others_keeps_its_locks",
    ),
    _locks(
        "an unsettled call keeps its locks", "locks", "and not is_over and is_unsettled() then return end",
        "and false then return end", "a_call_whose_outcome_nobody_knows_keeps_its_locks", to=SuspendTo.SHUTDOWN,
    ),
    _locks(
        "recovery frees what is settled", "recover", "if row.locks then give_locks_up(now) end", "",
        "recovery_frees_the_locks_of_a_dead_holder_when_its_call_is_settled", is_known=True,
    ),
    _locks(
        "recovery keeps what is not settled", "recover", "if row.locks then give_locks_up(now) end",
        "if row.locks then give_locks_up(now, true) end",
        "recovery_frees_the_locks_of_a_dead_holder_when_its_call_is_settled", is_known=False,
    ),
    _locks(
        "a suspended one frees", "suspend", "if row.locks then give_locks_up(now) end", "",
        "who_waits_for_anything_else_holds_nothing", to=SuspendTo.TIMER,
    ),
    _locks(
        "the end of a turn frees", "finishing", "  if row.locks then give_locks_up(now) end\n", "",
        "what_is_free_is_taken_by_the_write_that_begins_the_call",
    ),
    _locks(
        "the end of a task frees", "prelude", "  if row.locks then give_locks_up(now, true) end\n", "",
        "whatever_ends_or_stops_a_holder_frees", way="cancel",
    ),
    _locks(
        "a pause frees", "prelude", "  if row.locks then give_locks_up(now) end\n", "",
        "who_stops_waiting_leaves_its_place", way=SignalKind.PAUSE,
    ),
    _locks(
        "an edge frees", "edges", "  if row.locks then give_locks_up(now) end\n", "",
        "who_was_handed_a_lock_and_is_stopped_hands_it_on",
    ),
    _locks(
        "a call waits until its time is over", "fire",
        "      if now < (tonumber(own.due_ms) or 0) then return { 'STALE' } end\n",
        "", "a_call_waits_so_long_only",
    ),
    _locks(
        "who has waited too long leaves its place", "fire", "      locks.leave(own.needs)\n", "",
        "who_has_waited_too_long_has_no_place",
    ),
    _locks(
        "and those behind it come nearer", "fire", "      locks.wake_all(own.needs)\n", "", "a_call_waits_so_long_only",
    ),
)  # fmt: skip
