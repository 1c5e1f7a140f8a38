"""The guards of dependencies."""

from __future__ import annotations

from mutant import Mutant

from neuraphage.model.dependency import OnFailure
from neuraphage.model.task import Status

_BLOCKED, _QUEUED, _OVER = (Status.BLOCKED, "waits"), (Status.QUEUED, "outbox"), (Status.CANCELLED, "")


def _edges(name: str, script: str, old: str, new: str, test: str, **given: object) -> Mutant:
    return Mutant(name, script, old, new, f"edges::test_{test}", given)


EDGE_MUTANTS = (
    _edges(
        "a failed one holds on", "edges", " or (edge.rule == ON_FAILURE.block and edge.state ~= EDGE.Completed)", "",
        "what_a_failure_means_is_a_matter_of_the_edge", end=Status.FAILED, rule=OnFailure.BLOCK, then=_BLOCKED,
    ),
    _edges(
        "a failed one skips", "edges", "  if failed then\n", "  if false then\n",
        "what_a_failure_means_is_a_matter_of_the_edge", end=Status.FAILED, rule=OnFailure.SKIP, then=_OVER,
    ),
    _edges(
        "only skip skips", "edges", "if edge.rule == ON_FAILURE.skip and edge.state", "if edge.state",
        "what_a_failure_means_is_a_matter_of_the_edge", end=Status.FAILED, rule=OnFailure.GO_ON, then=_QUEUED,
    ),
    _edges(
        "a completed one skips nobody", "edges", "ON_FAILURE.skip and edge.state ~= EDGE.Completed then",
        "ON_FAILURE.skip then", "the_end_of_the_last_one_releases", rule=OnFailure.SKIP,
    ),
    _edges(
        "who is over is left alone", "edges", "TERMINAL[row.status] or not tonumber(row.seq) then return end",
        "not tonumber(row.seq) then return end", "one_that_is_skipped_twice_ends_once",
    ),
    _edges(
        "who is damaged is left alone", "edges",
        "  if type(redis.pcall('HGET', TASK, 'seq')) ~= 'string' or type(redis.pcall('XLEN', EVENTS)) ~= 'number' then"
        " return end\n",
        "",
        "a_damaged_one_holds_up_no_end",
    ),
    _edges(
        "completed once is completed", "edges", "if edge.state ~= EDGE.Completed and (not ended", "if (not ended",
        "what_was_completed_once_counts_as_that",
    ),
    _edges(
        "who is paused stays so", "edges", "elseif row.status == STATUS.Blocked and not waits then",
        "elseif not waits then", "a_paused_task_is_no_exception",
    ),
    _edges(
        "all of them must end", "edges", "row.status == STATUS.Blocked and not waits then",
        "row.status == STATUS.Blocked then", "the_end_of_the_last_one_releases", rule=OnFailure.BLOCK,
    ),
    _edges(
        "a settled edge leaves the index", "edges", "  call_with('ZREM', EDGES, settled)\n", "",
        "the_end_of_the_last_one_releases", rule=OnFailure.BLOCK,
    ),
    _edges(
        "who ends waits no more", "edges", "    redis.call('ZREM', EDGES, edge.id .. ' ' .. ID)\n    if not holds_up",
        "    if not holds_up", "a_blocked_task_that_ends_is_waited_for_no_more",
    ),
    _edges(
        "who begins anew waits for nobody", "edges", "if new == STATUS.Failed and #kept < #edges then",
        "if false then", "a_failed_task_begins_again_without_its_edges",
    ),
    _edges(
        "the end is told to those who wait", "edges", "    as_task(other, act, now, limits, ended)\n", "",
        "each_way_to_end_releases",
    ),
    _edges(
        "messages of those who were woken", "waking", " woken[#woken + 1] = ID", " local _ = ID",
        "each_way_to_end_releases",
    ),
    _edges(
        "blocked from create on", "create", "  if held then hold_back", "  if false then hold_back",
        "a_task_that_waits_is_blocked_from_its_create_on",
    ),
    _edges(
        "created after one that is over", "create", "  reconsider(now, given)\n", "",
        "one_that_is_over_is_no_exception", end=Status.CANCELLED, rule=OnFailure.SKIP, then=_OVER, later=False,
    ),
    _edges(
        "created after one that is not there", "create",
        "  if edge.state == EDGE.gone then return { 'NO_SUCH_TASK', edge.id } end\n", "",
        "who_is_not_there_cannot_be_waited_for",
    ),
    _edges(
        "created after one with many", "create",
        "  if is_full(edge.id, given.dependants_max) then return { 'TOO_MANY', edge.id } end\n", "",
        "bounds_of_the_graph",
    ),
    _edges(
        "a circle", "depend", "  if path then return told('CYCLE', table.concat(path, ' ')) end\n", "",
        "a_circle_is_refused_and_shown",
    ),
    _edges(
        "a circle of what is over", "children", "do if holds_up(edge) then visit(present, edge.id) end end",
        "do visit(present, edge.id) end", "edges_that_hold_nobody_up_close_no_circle",
    ),
    _edges(
        "a dependency on one that is not there", "depend",
        "  if edge.state == EDGE.gone then return reply('NO_SUCH_TASK') end\n", "",
        "who_is_not_there_cannot_be_waited_for",
    ),
    _edges(
        "most dependencies", "depend", " or #edges >= given.dependencies_max", "", "bounds_of_the_graph",
    ),
    _edges("most dependants", "depend", " or is_full(on, given.dependants_max) then", " then", "bounds_of_the_graph"),
    _edges(
        "most steps of the walk", "children", "    if at > most then return false end\n", "",
        "bounds_of_the_graph",
    ),
    _edges(
        "who is blocked by a lock takes no edge", "depend", "row.status == STATUS.Blocked and waited",
        "row.status == STATUS.Blocked", "a_task_blocked_by_a_lock_is_not_released_by_an_edge",
    ),
    _edges(
        "who is blocked by a lock is not released", "depend", "  if waited then reconsider",
        "  if true then reconsider",
        "a_task_blocked_by_a_lock_is_not_released_by_an_edge",
    ),
    _edges(
        "a queued task is held back", "depend", "  if queued and holds_up(edge) then hold_back",
        "  if false then hold_back", "a_dependency_is_added_and_taken_away", paused=False,
    ),
    _edges(
        "one that is over is waited for no more", "depend", "  reconsider(now, given)\n  return with_woken",
        "  return with_woken", "one_that_is_over_is_no_exception", end=Status.CANCELLED, rule=OnFailure.SKIP,
        then=_OVER, later=True,
    ),
    _edges(
        "the edge leaves the index", "depend", "  redis.call('ZREM', EDGES, on .. ' ' .. ID)\n", "",
        "a_dependency_is_added_and_taken_away", paused=False,
    ),
    _edges(
        "a resumed task waits again", "resume", "if waits_for_tasks() then", "if false then",
        "a_dependency_is_added_and_taken_away", paused=True,
    ),
    _edges(
        "the poll wakes nobody who waits", "fire", "  elseif waits_for_tasks() then", "  elseif false then",
        "the_poll_wakes_nobody_who_waits_for_tasks",
    ),
    _edges(
        "the poll looks at each in turn", "fire",
        "    if status == STATUS.Blocked then redis.call('ZADD', STATUS_KEY[STATUS.Blocked], now, ID) end\n", "",
        "the_poll_wakes_nobody_who_waits_for_tasks",
    ),
    _edges(
        "the poll finds what was lost", "fire", "    reconsider(now, given)\n", "",
        "the_poll_wakes_nobody_who_waits_for_tasks",
    ),
    Mutant(
        "an edge that is not known", "repair", "    if fix then redis.call('ZADD', EDGES, 0, member) end\n", "",
        "repair::test_each_breach_is_told_and_put_right", {"name": "an edge that is not known"},
    ),
    Mutant(
        "an edge of no task", "repair", "    if fix then redis.call('ZREM', EDGES, member) end\n", "",
        "repair::test_each_breach_is_told_and_put_right", {"name": "an edge of no task"},
    ),
    Mutant(
        "an edge that its task has", "repair",
        "  if not wanted[member] and redis.call('ZSCORE', EDGES, member) then",
        "  if redis.call('ZSCORE', EDGES, member) then",
        "repair::test_an_edge_that_was_made_meanwhile_stays",
    ),
)  # fmt: skip
