"""Guards outside the scripts about locks."""

from __future__ import annotations

from bugs import Bug

CALLS = "tests/unit/runtime/test_locked_calls.py::"
NEEDS = "tests/unit/decide/test_lock_needs.py::"
PLACES = "tests/unit/runtime/test_call_places.py::"

LOCK_GUARDS = (
    Bug(
        "locks-are-asked-for-with-the-announcement", "neuraphage/runtime/tool_step.py",
        "        self.announce(call, declaration, evidence, attempt, locks=True)\n",
        "        self.announce(call, declaration, evidence, attempt)\n",
        CALLS + "test_the_second_waits_for_the_first_and_then_goes_on",
    ),
    Bug(
        "locks-a-call-that-waited-too-long-is-told", "neuraphage/decide/next_call.py",
        "    if late is not None:\n", "    if False:\n",
        CALLS + "test_a_call_that_waits_too_long_gets_an_error_that_names_the_holder",
    ),
    Bug(
        "locks-a-command-has-its-directory-alone", "neuraphage/decide/lock_needs.py",
        "LockMode.EXCLUSIVE if is_alone else LockMode.SHARED", "LockMode.SHARED",
        NEEDS + "test_needs_follow_from_the_declaration",
    ),
    Bug(
        "locks-two-names-are-one", "neuraphage/runtime/call_places.py",
        "        return os.path.realpath(Path(working_dir, path))\n",
        "        return os.path.normpath(Path(working_dir, path))\n",
        PLACES + "test_two_names_of_one_place_are_one",
    ),
)  # fmt: skip
"""Each as a change of the product that takes the guard away, with a test that misses it."""
