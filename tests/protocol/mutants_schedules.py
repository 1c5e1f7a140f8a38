"""The guards of schedules."""

from __future__ import annotations

from mutant import Mutant

from neuraphage.ports import FinishTo


def _times(name: str, old: str, new: str, test: str, script: str = "occur", **given: object) -> Mutant:
    return Mutant(name, script, old, new, f"schedules::test_{test}", given)


SCHEDULE_MUTANTS = (
    _times(
        "a time that another sweep has had is over", "state.next_ms ~= given.due_ms", "false",
        "a_time_at_which_the_last_task_is_not_over_is_skipped",
    ),
    _times("a paused schedule makes nothing", "state.paused or", "", "a_paused_schedule_makes_nothing"),
    _times("no task before its time", " or given.due_ms > now", "", "a_time_to_come_is_not_due"),
    _times(
        "what was read of a schedule is held against what stands",
        "redis.call('HGET', SCHEDULES, given.schedule) ~= given.definition", "false",
        "a_removed_schedule_makes_nothing",
    ),
    _times(
        "a task that is there is not made again", "if redis.call('EXISTS', TASK) == 1", "if false",
        "a_task_that_is_there_already_is_not_made_again",
    ),
    _times(
        "who is not over is not run over", "if not is_at_work then return true end", "if true then return true end",
        "a_time_at_which_the_last_task_is_not_over_is_skipped",
    ),
    _times(
        "one at most waits for the last", " and last[2] ~= '0' then", " then",
        "a_time_at_which_the_last_task_is_not_over_is_queued", end=FinishTo.COMPLETED,
    ),
    _times(
        "who is queued waits for the last",
        "    hold_back(read(COMMON), now, { after = edge_text({ edge }) }, given.events_max)\n", "",
        "a_time_at_which_the_last_task_is_not_over_is_queued", end=FinishTo.COMPLETED,
    ),
    _times(
        "who is queued is released", "redis.call('ZADD', EDGES, 0, state.last_task .. ' ' .. ID)", "",
        "a_time_at_which_the_last_task_is_not_over_is_queued", end=FinishTo.COMPLETED,
    ),
    _times(
        "the next time is set with the task", "state.next_ms = given.next_ms\n", "",
        "times_that_were_missed_are_made_up_for_by_one_task",
    ),
    _times(
        "a task in line is not published", "redis.call('ZSCORE', OUTBOX, ID) and 1 or 0", "1",
        "its_tasks_stand_in_line_as_any",
    ),
    _times(
        "a name is taken once", "== given.definition and 'ACCEPTED' or 'EXISTS' }", "and 'ACCEPTED' }",
        "a_name_is_taken_once", "schedule",
    ),
    _times(
        "a repeat of an addition is known", "== given.definition and 'ACCEPTED' or 'EXISTS' }", "and 'EXISTS' }",
        "an_addition_may_be_repeated", "schedule",
    ),
    _times(
        "there are so many schedules at most", "redis.call('HLEN', SCHEDULES) >= given.most", "false",
        "there_are_so_many_at_most", "schedule",
    ),
    _times(
        "one that is not paused keeps its time", "elseif state.paused then", "else",
        "a_paused_schedule_makes_nothing", "schedule",
    ),
)  # fmt: skip
