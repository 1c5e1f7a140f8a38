"""The guards of slots, and of the line of those that wait for one."""

from __future__ import annotations

from mutant import Mutant

from neuraphage.ports import SignalKind


def _slots(name: str, old: str, new: str, test: str, script: str = "slots", **given: object) -> Mutant:
    return Mutant(name, script, old, new, f"slots::test_{test}", given)


SLOT_MUTANTS = (
    _slots(
        "a taken slot is taken", "if #pools == 0 or (not head_of(lane) and not first_taken(pools)) then",
        "if true then", "only_so_many_are_put_to_work",
    ),
    _slots(
        "who is at rest gives its slot back", "if target == WAITS or not target then leave() end", "",
        "a_slot_moves_on_in_the_script_that_frees_it", "prelude", way="completed",
    ),
    _slots(
        "a free slot goes on", "    advance(now_ms())\n", "",
        "a_slot_moves_on_in_the_script_that_frees_it", way="blocked",
    ),
    _slots(
        "messages of those who begin", "    wake_later(row[2] + 1, row[3])\n", "",
        "a_slot_moves_on_in_the_script_that_frees_it", way="waits for a person",
    ),
    _slots(
        "a message of who stood in line is stale", "    redis.call('HSET', TASK, 'seq', row[2] + 1)\n", "",
        "a_slot_moves_on_in_the_script_that_frees_it", way="completed",
    ),
    _slots(
        "what a pause frees is published", "return with_woken(accepted())", "return accepted()",
        "who_is_taken_back_gives_its_slot_or_its_place_in_line_back", "stop", kind=SignalKind.PAUSE,
    ),
    _slots(
        "what a cancel that a claim meets frees is published",
        "cancel_detail(row), { seq = row.seq + 1 }, given)\n    return with_woken({ 'NOT_RUNNABLE' })",
        "cancel_detail(row), { seq = row.seq + 1 }, given)\n    return { 'NOT_RUNNABLE' }",
        "a_flag_that_a_claim_meets_frees_the_slot", "claiming", kind=SignalKind.CANCEL,
    ),
    _slots(
        "what a pause that a claim meets frees is published",
        "{ seq = row.seq + 1 }, given.events_max)\n    return with_woken({ 'NOT_RUNNABLE' })",
        "{ seq = row.seq + 1 }, given.events_max)\n    return { 'NOT_RUNNABLE' }",
        "a_flag_that_a_claim_meets_frees_the_slot", "claiming", kind=SignalKind.PAUSE,
    ),
    _slots(
        "who leaves the line is not put to work", "~= 's' then return drop(held) end", "~= 's' then return end",
        "who_is_taken_back_gives_its_slot_or_its_place_in_line_back", kind=SignalKind.CANCEL,
    ),
    _slots(
        "the poll says who it is", "tells(CAUSE.sweep, row.iteration)\n", "",
        "a_task_that_the_poll_wakes_is_scheduled_by_the_sweep", "fire",
    ),
    _slots(
        "one in line takes an edge", "row.status == STATUS.Queued -- for a worker",
        "row.status == STATUS.Queued and redis.call('ZSCORE', OUTBOX, ID) -- for a worker",
        "one_in_line_may_be_made_to_wait_for_another_task", "depend",
    ),
    _slots(
        "a pool that is waited for is taken", " and slots().is_taken(pool) then", " then",
        "repair_wakes_who_waits_for_a_pool_that_has_room", "slot_checks",
    ),
    _slots(
        "who has begun goes first", "row.fence == '0' and '1' or '0'", "'1'",
        "who_has_begun_goes_before_those_who_have_not",
    ),
    _slots(
        "one turn a round", "elseif score < earliest then", "elseif false then",
        "keys_take_turns",
    ),
    _slots(
        "a key that comes again begins with the next round", "return math.max(now_at + 1,", "return math.max(0,",
        "who_comes_again_and_again_keeps_nobody_waiting",
    ),
    _slots(
        "a priority is worth time", "class * (rules.step_ms or 0)", "0",
        "a_lower_number_comes_first_and_waiting_counts",
    ),
    _slots(
        "waiting counts", "if first and (not best or due < best_due)", "if first and not best",
        "a_lower_number_comes_first_and_waiting_counts",
    ),
    _slots(
        "a full label holds up its own", "      redis.call('ZREM', LANES, lane)\n      return 0\n",
        "", "a_label_has_limits_of_its_own_and_holds_up_no_other",
    ),
    _slots(
        "a free label is looked at", "      list_parked('[p' .. pool .. ' ', '(p' .. pool .. '!')\n", "",
        "a_label_has_limits_of_its_own_and_holds_up_no_other",
    ),
    _slots(
        "each value of a label", " or rules.labels[string.match(pool, '^[^=]*=') .. ALL]", "",
        "each_value_of_a_label_may_have_a_limit",
    ),
    _slots(
        "who is at work counts", "if row[1] == STATUS.Running or (", "if (",
        "limits_that_change_hold_at_once", "adjust",
    ),
    _slots(
        "a claim is held against the limits", "not row.admission and not enter(row, now) then", "false then",
        "limits_that_change_hold_at_once", "claiming",
    ),
    _slots(
        "new limits hold in line", "stand('w' .. lane .. string.sub(first.member, #first.lane + 2))", "",
        "a_limit_of_a_label_that_comes_later_holds_for_those_in_line",
    ),
)  # fmt: skip
