"""The guards of children."""

from __future__ import annotations

from mutant import Mutant

from neuraphage.model.subtask import OnParentEnd
from neuraphage.model.task import Status
from neuraphage.ports import SignalKind


def _children(name: str, script: str, old: str, new: str, test: str, **given: object) -> Mutant:
    return Mutant(name, script, old, new, f"children::test_{test}", given)


def _bounds(name: str, script: str, old: str, new: str, test: str) -> Mutant:
    return Mutant(name, script, old, new, f"tree_bounds::test_{test}")


def _turns(name: str, old: str, new: str, test: str, script: str = "tree_turns") -> Mutant:
    return Mutant(name, script, old, new, f"tree_turns::test_{test}")


CHILD_MUTANTS = (
    _children(
        "all are waited for", "children", "    if child.rule == WAIT.all and open then return true end\n", "",
        "children_are_made_by_the_write_that_gives_the_lease_back",
    ),
    _children("one of any is enough", "children", "one_open and not one_over", "one_open", "one_of_any_is_enough"),
    _children(
        "who waits no more waits for none", "children",
        "  if not waits then for _, child in ipairs(children) do child.rule = WAIT.later end end\n", "",
        "the_end_of_a_child_tells_its_parent", end=Status.COMPLETED,
    ),
    _children(
        "only the one that has ended is looked at", "children", "and (not ended or child.id == ended) then", "then",
        "a_child_is_told_of_by_its_own_end",
    ),
    _children(
        "what came of it stands with the parent", "children",
        "      if child.state ~= EDGE.open then set['r:' .. child.id] = outcome_of(child.id, child.state) end\n", "",
        "the_end_of_a_child_tells_its_parent", end=Status.FAILED,
    ),
    _children(
        "who is over is told nothing", "children", "  if not status or TERMINAL[status] then return end\n", "",
        "a_parent_that_is_over_is_left_as_it_is",
    ),
    _children(
        "who waits for something else is not put to work", "children",
        "  if waits_for_tasks() then return reconsider(now, limits, child) end\n",
        "  do return reconsider(now, limits, child) end\n", "a_lock_is_waited_for_on",
    ),
    _children(
        "who runs is told by a flag", "children", "  if has_lease() then\n", "  if false then\n",
        "the_end_of_a_parent_reaches_its_children", how=OnParentEnd.CANCEL,
    ),
    _children(
        "an orphan goes on", "children", "'on_parent_end') == PARENT_END.orphan then", "'on_parent_end') == 'x' then",
        "the_end_of_a_parent_reaches_its_children", how=OnParentEnd.ORPHAN,
    ),
    _children(
        "an orphan takes its reservation along", "children",
        "        add_above(ID, 'held_below',", "        add_above(ID, 'nothing',",
        "an_orphan_takes_its_reservation_along",
    ),
    _children(
        "who is led back to work is told", "signals", "  look_at_children(set)\n", "",
        "who_is_led_back_to_work_knows_of_children_that_ended_meanwhile", kind=SignalKind.RETRY, is_late=True,
    ),
    _children(
        "a circle by way of a subtask", "children", "if child.state == EDGE.open then visit(present, child.id) end",
        "if false then visit(present, child.id) end", "a_child_waits_for_none_of_those_above_it",
    ),
    _children(
        "a subtask in a circle is not made", "create", "    if path then return { 'CYCLE', edge.id } end\n", "",
        "a_child_is_not_made_that_waits_for_those_above_it",
    ),
    _children(
        "a subtask of too large a graph is not made", "create",
        "    if path == false then return { 'TOO_MANY', edge.id } end\n", "",
        "a_child_is_not_made_that_waits_for_those_above_it",
    ),
    _children(
        "children are cancelled", "edges", "  leave_children()\n", "",
        "the_end_of_a_parent_reaches_its_children", how=OnParentEnd.CANCEL,
    ),
    _children(
        "parents are told", "edges", "  if parent then pending[", "  if false then pending[",
        "the_end_of_a_child_tells_its_parent", end=Status.CANCELLED,
    ),
    _children(
        "a child is made once", "spawning",
        "not known[id] and redis.call('HEXISTS', key_of(id), 'status') == 0\n", "true\n",
        "a_child_that_is_there_is_not_made_again",
    ),
    _children(
        "a paused parent's children are made", "suspend",
        "  answer(STATUS.Paused, PLACE.waits)\n  apply(groups, set, true)\n  change_children(groups.children, now)\n",
        "  answer(STATUS.Paused, PLACE.waits)\n  apply(groups, set, true)\n",
        "a_pause_that_came_before_the_write_makes_the_children_too",
    ),
    _children(
        "what was taken is kept no more", "changes",
        "    if groups.children[i] == CHILD.taken then", "    if false then", "one_of_any_is_enough",
    ),
    _children(
        "who is over takes no child", "create", "  if TERMINAL[status] then return", "  if false then return",
        "a_person_makes_a_child",
    ),
    _children(
        "who is full takes no child", "create", "  if made >= given.max_children then", "  if false then",
        "a_person_makes_a_child",
    ),
    _children(
        "the history has who was made", "spawning",
        "      event(EVENT.SubtaskSpawned, cjson.encode({ child = id, name = new.name }), given.events_max)\n", "",
        "children_are_made_by_the_write_that_gives_the_lease_back",
    ),
    _bounds(
        "a turn makes no more than there is room for", "suspend",
        "if too_many then return", "if false then return", "a_turn_makes_no_more_children_than_there_is_room_for",
    ),
    _bounds(
        "who is cancelled needs no room", "suspend", " and not row.cancel and made", " and made",
        "a_cancelled_task_is_over_also_without_room",
    ),
    _bounds(
        "children that are there take no second place", "spawning",
        "    if is_new_child(known, rows[i], rows[i + 1]) then", "    if true then",
        "children_that_are_there_take_no_second_place",
    ),
    _turns(
        "a turn counts once", "  if string.match(row.tree, '%S+$') == name then return nil end\n", "",
        "a_turn_counts_once",
    ),
    _turns(
        "a reset begins other turns", "(row.resets or '0') .. ':'", "'0:'", "a_reset_begins_further_turns",
    ),
    _turns(
        "limits above hold", "  local ids = above(stored.parent)\n", "  local ids = {}\n",
        "no_turn_begins_beyond_the_limit_of_a_task_above",
    ),
    _turns(
        "one's own limit holds", "  table.insert(ids, 1, ID)\n", "", "a_task_alone_may_have_such_a_limit",
    ),
    _turns(
        "what was taken before counts", "  local begun = redis.call('HEXISTS', TURN, MODEL_ENTRY)\n",
        "  local begun = 0\n", "a_limit_that_is_set_later_counts_what_was_taken_before",
    ),
    _turns(
        "who counts begins not anew", "  if row.tree or not", "  if not", "a_reset_begins_further_turns",
    ),
    _turns(
        "what begins no turn takes none", "  if not announces then return nil end\n", "",
        "what_is_no_call_of_the_model_takes_no_turn",
    ),
    _turns(
        "a turn counts above", "if turn then add_above(turn.parent, 'turns_below', 1) end\n", "",
        "a_turn_counts_for_its_task_and_all_above", "commit",
    ),
    _turns(
        "none begins at the limit", "if turn and turn.full then return", "if false then return",
        "no_turn_begins_beyond_the_limit_of_a_task_above", "commit",
    ),
    _turns(
        "a claim takes no turn", "    and not row.tree -- which a commit counts the turn of\n", "",
        "a_task_alone_may_have_such_a_limit", "claiming",
    ),
    _turns(
        "a limit begins to count", "if given.max_tree_turns ~= '' then count_turns() end\n", "",
        "a_limit_that_is_set_later_counts_what_was_taken_before", "limit",
    ),
    _turns(
        "a child that a person makes begins to count", "    count_turns()\n", "",
        "a_person_makes_a_child_of_a_task_at_work", "creating",
    ),
    _turns(
        "a child of a turn begins to count", "    count_turns()\n", "", "a_turn_counts_for_its_task_and_all_above",
        "spawning",
    ),
    _children(
        "who is gone takes no child", "create",
        "  if type(status) ~= 'string' then return { 'NO_SUCH_TASK', parent } end\n",
        "", "a_person_makes_a_child",
    ),
    _children(
        "a pause goes down", "stop", "  each_child(pause_below, now, given)\n", "",
        "a_pause_goes_down_and_a_resume_too",
    ),
    _children(
        "a resume goes down", "resume", "  each_child(resume_below, now, given)\n", "",
        "a_pause_goes_down_and_a_resume_too",
    ),
    _children(
        "what a person has paused stays so", "children", " and detail.reason == 'parent'\n", "\n",
        "a_pause_goes_down_and_a_resume_too",
    ),
    _children(
        "a person's flag stays", "children", "  elseif not row.pause then\n", "  else\n",
        "a_pause_that_no_worker_has_seen_is_taken_back_from_children",
    ),
    _children(
        "a flag is taken back", "children", "    redis.call('HDEL', TASK, 'pause')\n", "",
        "a_pause_that_no_worker_has_seen_is_taken_back_from_children",
    ),
    _children(
        "children of a paused turn are paused", "suspend",
        "  if #groups.children > 0 then each_child(pause_below, now, given) end\n", "",
        "a_pause_that_came_before_the_write_makes_the_children_too",
    ),
    _children(
        "what is spent counts above", "money", "  add_above(row.parent, 'below', cost)\n", "",
        "what_is_spent_counts_for_all_above",
    ),
    _children(
        "reservations count above", "money", "  add_above(row.parent, 'held_below', amount - held)\n", "",
        "what_is_spent_counts_for_all_above",
    ),
    _children(
        "an end gives back above", "prelude", "  add_above(row.parent, 'held_below', -tonumber(row.reserved))\n", "",
        "what_is_spent_counts_for_all_above",
    ),
    _children(
        "a call needs room above", "money", "  if not (row.parent or row.children) then return end\n",
        "  if true then return end\n", "a_call_has_no_room_where_one_above_has_none",
    ),
    _children(
        "a task of a tree reserves", "money", "  return row.parent or row.children or next", "  return next",
        "a_call_has_no_room_where_one_above_has_none",
    ),
    _children(
        "what is below counts at the limit", "prelude", " + (value('below') or 0), value", ", value",
        "a_tree_at_its_limit_is_not_led_back_to_work",
    ),
)  # fmt: skip
"""Each with the contract test that misses it."""
