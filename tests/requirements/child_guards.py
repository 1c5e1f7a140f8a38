"""Guards outside the scripts about tasks that tasks make."""

from __future__ import annotations

from bugs import Bug

TURNS = "tests/unit/runtime/test_subtasks.py::"

CHILD_GUARDS = (
    Bug(
        "child-a-subtask-is-asked-about", "neuraphage/tools/control_tools.py",
        "        side_effecting=True,\n", "        side_effecting=False,\n",
        TURNS + "test_a_subtask_is_asked_about_unless_a_rule_allows_it",
    ),
    Bug(
        "child-works-inside-its-parents-directory", "neuraphage/runtime/child_place.py",
        "    if not place.is_relative_to(Path(own).resolve()):\n", "    if False:\n",
        TURNS + "test_a_child_works_inside_its_parents_directory_with_its_rights",
    ),
    Bug(
        "child-depth-is-limited", "neuraphage/decide/child_spec.py",
        "    if record.spec.depth >= max_depth:\n", "    if False:\n",
        TURNS + "test_depth_and_width_are_limited",
    ),
    Bug(
        "child-width-is-limited", "neuraphage/decide/child_spec.py",
        "    if made >= max_children:\n", "    if False:\n",
        TURNS + "test_depth_and_width_are_limited",
    ),
    Bug(
        "child-gets-no-more-than-is-left", "neuraphage/decide/child_spec.py",
        "    if wanted is not None and round(wanted * _MICROUSD) > rest_microusd(record):\n", "    if False:\n",
        TURNS + "test_a_child_works_inside_its_parents_directory_with_its_rights",
    ),
    Bug(
        "child-fails-where-a-tree-has-spent-its-money", "neuraphage/decide/calling.py",
        " or shortage.of_task is not None)", ")",
        TURNS + "test_a_tree_spends_one_pool",
    ),
    Bug(
        "child-cost-counts-for-the-parent", "neuraphage/decide/limits.py",
        "    return record.counters.cost_microusd + record.below_microusd\n",
        "    return record.counters.cost_microusd\n",
        TURNS + "test_a_tree_spends_one_pool",
    ),
    Bug(
        "what-a-refused-claim-frees-is-published", "neuraphage/runtime/runner.py",
        "            self._publish_woken(claimed.woken)\n", "",
        "tests/unit/runtime/test_flags_at_claims.py::test_the_next_in_line_gets_its_message_at_once",
    ),
    Bug(
        "child-one-that-somebody-forestalled-is-told", "neuraphage/runtime/turn.py",
        "            self._work.children_made = full.made\n", "            raise\n",
        TURNS + "test_a_turn_that_somebody_has_forestalled_makes_what_there_is_room_for",
    ),
    Bug(
        "child-failed-is-an-error", "neuraphage/decide/children.py",
        'ToolResult(text="\\n\\n".join(told), is_error=failed)', 'ToolResult(text="\\n\\n".join(told))',
        TURNS + "test_a_failed_child_is_an_error_for_the_model",
    ),
)  # fmt: skip
"""Each as a change of the product that takes the guard away, with a test that misses it."""
